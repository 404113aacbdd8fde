#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The corruption run: thousands of corrupted volumes, migrated by winch under sanitizers.

For each: no crash, no hang over 10 s, a known exit code, no byte from outside the volume in the
bucket, and nothing called uploaded that other readers of the same image (ntfscat, the small one in
reading.py) do not read likewise; what is uploaded shares no cluster with another stream and uses
none that $Bitmap calls free. Usage: run.py [--count N] [--seed S] [--keep DIR]"""
import argparse
import base64
import collections
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
for folder in ('images', 'integration'):
    sys.path.insert(0, os.path.join(TOP, 'tests', folder))

import bases              # noqa: E402  (the path is set just above)
import manifest           # noqa: E402
import mutations          # noqa: E402
import ntfs_image         # noqa: E402
from local_storage import LocalStorage  # noqa: E402
from reading import Volume              # noqa: E402

HANG_SECONDS = 10
READER_SECONDS = 10
RESTART_EVERY = 200
BUCKET = 'corrupted'


class Base:
    def __init__(self, folder, name):
        self.name = name
        self.disk, self.start, self.end = bases.make(folder, name)
        self.layout = mutations.Layout(self.disk[self.start:self.end])
        self.pristine = {}


class Session:
    """A server, a folder, and the verdicts so far."""

    def __init__(self, folder, winch, fake, keep):
        self.folder, self.winch, self.fake, self.keep = folder, winch, fake, keep
        self.storage = None
        self.outcomes = collections.Counter()
        self.streams = collections.Counter()
        self.reasons = collections.Counter()
        self.bad = []

    def restart(self):
        if self.storage is not None:
            self.storage.stop()
            subprocess.run(['rm', '-rf', os.path.join(self.folder, 'bucket')], check=True)
        self.storage = LocalStorage(self.fake, '--dir', os.path.join(self.folder, 'bucket'))

    def migrate(self, path, prefix):
        """(exit code or 'hang', JSON text, messages)"""
        environment = dict(os.environ, STORAGE_EMULATOR_HOST=self.storage.url,
                           TMPDIR=self.folder)
        state = os.path.join(self.folder, 'state')
        try:
            done = subprocess.run(
                [self.winch, 'migrate', path, 'gs://%s/%s' % (BUCKET, prefix), '--json',
                 '--progress', 'none', '--connections', '2', '--no-default-excludes',
                 '--state-dir', state], check=False, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired as error:
            return 'hang', '', (error.stderr or b'').decode(errors='replace')
        finally:
            subprocess.run(['rm', '-rf', state], check=True)
        return done.returncode, done.stdout.decode(errors='replace'), \
            done.stderr.decode(errors='replace')

    def uploaded(self, prefix):
        """{(record, stream): (object name or None, crc32c, bytes or None, size)} as manifested."""
        bucket = self.storage.bucket(BUCKET)
        lines = manifest.Manifest(bucket, prefix).lines
        found = {}
        for line in lines:
            if line.get('reason') and line['state'] == 'failed':
                self.reasons[line['reason']] += 1
            if line['state'] == 'uploaded' and 'name' in line:
                found[(int(line['record']), line.get('stream', ''))] = (
                    line['name'], line['crc32c'], None, int(line['size']), line.get('form'))
            for one in line.get('streams', ()):
                if 'base64' in one:
                    found[(int(line['record']), one['stream'])] = (
                        None, one['crc32c'], base64.b64decode(one['base64']), one['size'],
                        'inline')
        return found


def ntfscat(volume, record, stream):
    command = ['ntfscat', '-f', '-i', str(record)]
    if stream:
        command += ['-n', stream]
    try:
        done = subprocess.run(command + [volume], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=READER_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def judge_stream(session, volume, volume_path, key, found):
    """'' or what is wrong with a stream that is called uploaded and differs from the pristine."""
    name, crc, data, size, form = found
    if data is None:
        data = session.storage.bucket(BUCKET).get(name)
    if bases.SECRET in data or bases.SECRET[16:] + bases.SECRET[:16] in data:
        return 'holds bytes from outside the volume'
    if manifest.crc32c(data) != crc or len(data) != size:
        return 'is not what the manifest says'
    own = volume.plain(*key) if volume is not None else None
    if own is not None and own[0] == data:
        session.streams['changed, as our small reader reads it'] += 1
        return ''
    other = ntfscat(volume_path, *key)
    if other == data:
        session.streams['changed, as ntfscat reads it'] += 1
        return ''
    if form == 'wof':
        session.streams['changed, CompactOS: no other reader'] += 1
        return ''
    if other is None and own is None:
        session.streams['changed, no other reader reads it'] += 1
        return ''
    return 'differs from %s' % ('ntfscat' if own is None else 'both other readers')


def judge_claims(volume, uploaded, messages):
    """No uploaded stream shares a cluster, or uses one that is free."""
    if volume is None:
        return ''
    # A $Bitmap that calls its own clusters free says nothing; winch warns that it was not used.
    bitmap = None if '$Bitmap cannot be used' in messages else volume.bitmap()
    owners = {}
    for key, found in uploaded.items():
        try:
            body = volume.attribute(volume.record(key[0]), 0x80, key[1].encode('utf-16-le'))
            runs = volume.extents(body) or ()
        except (IndexError, ValueError):
            continue
        for place, count in runs:
            for cluster in range(place, place + count) if place is not None else ():
                if owners.setdefault(cluster, key) != key:
                    return 'cluster %d is in %s and %s' % (cluster, owners[cluster], key)
                if bitmap and cluster // 8 < len(bitmap) and found[3] > 0 and \
                        not bitmap[cluster // 8] >> cluster % 8 & 1:
                    return 'cluster %d of %s is free' % (cluster, key)
    return ''


def judge(session, base, data, volume_path, prefix, messages):
    uploaded = session.uploaded(prefix)
    try:
        volume = Volume(bytes(data))
    except Exception:       # whatever a corrupted volume does to a reader without checks
        volume = None
    for key, found in uploaded.items():
        if base.pristine.get(key) == found[1]:
            session.streams['as before the corruption'] += 1
            continue
        if not os.path.exists(volume_path):
            with open(volume_path, 'wb') as stream:
                stream.write(data)
        try:
            wrong = judge_stream(session, volume, volume_path, key, found)
        except (IndexError, ValueError, OverflowError, TypeError):
            wrong = judge_stream(session, None, volume_path, key, found)
        if wrong:
            return 'record %d stream %r %s' % (*key, wrong)
    try:
        return judge_claims(volume, uploaded, messages)
    except (IndexError, ValueError, OverflowError, TypeError):
        return ''


def run_one(session, base, seed):
    data = bytearray(base.disk[base.start:base.end])
    what = mutations.mutate(base.layout, data, seed)
    path = os.path.join(session.folder, 'disk.img')
    volume_path = os.path.join(session.folder, 'volume.img')
    with open(path, 'wb') as stream:
        stream.write(base.disk[:base.start] + data + base.disk[base.end:])
    prefix = 'p%d' % seed
    code, _, messages = session.migrate(path, prefix)
    wrong = ''
    if code == 'hang':
        wrong = 'hang'
    elif 'Sanitizer' in messages or 'runtime error' in messages or code < 0:
        wrong = 'crash'
    elif code not in (0, 3, 6):
        wrong = 'exit %d' % code
    elif code in (0, 3):
        wrong = judge(session, base, data, volume_path, prefix, messages)
    if os.path.exists(volume_path):
        os.unlink(volume_path)
    session.outcomes[{0: 'clean', 3: 'with failed entries', 6: 'volume refused'}.get(
        code, 'other')] += 1
    if wrong:
        session.bad.append((seed, base.name, wrong, what))
        print('seed %d, base %s: %s; %s\n%s' % (seed, base.name, wrong, ' '.join(what),
                                                messages[-1500:]), flush=True)
        if session.keep:
            os.makedirs(session.keep, exist_ok=True)
            subprocess.run(['cp', path, os.path.join(session.keep, 'seed%d.img' % seed)],
                           check=True)


def note_pristine(session, base):
    path = os.path.join(session.folder, 'disk.img')
    with open(path, 'wb') as stream:
        stream.write(base.disk)
    code, out, messages = session.migrate(path, 'pristine-' + base.name)
    assert code == 3, (code, out, messages)     # dedup and placeholders are in it
    base.pristine = {key: found[1] for key, found in
                     session.uploaded('pristine-' + base.name).items()}
    assert len(base.pristine) > 100, base.name
    session.reasons.clear()


def summary(session, count, seconds):
    print('================================ corruption ================================')
    print('%d images in %d s: %s' % (count, seconds, ', '.join(
        '%d %s' % (n, name) for name, n in session.outcomes.most_common())))
    print('uploaded streams: ' + ', '.join('%d %s' % (n, name) for name, n in
                                           session.streams.most_common()))
    print('failed entries and streams: ' + ', '.join('%d %s' % (n, name) for name, n in
                                                     session.reasons.most_common()))
    print('%d passed, %d failed, 0 skipped' % (count - len(session.bad), len(session.bad)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=150)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--keep')
    options = parser.parse_args()
    winch = os.environ.get('WINCH', os.path.join(TOP, 'build-sanitized', 'winch'))
    fake = os.environ.get('FAKE_GCS', os.path.join(TOP, 'build', 'fake-gcs'))
    os.environ.setdefault('ASAN_OPTIONS', 'detect_leaks=1:allocator_may_return_null=1')
    os.environ.setdefault('LSAN_OPTIONS', 'print_suppressions=0:suppressions=' +
                          os.path.join(HERE, 'leaks.supp'))
    os.environ.setdefault('UBSAN_OPTIONS', 'halt_on_error=1:print_stacktrace=1')
    why = ntfs_image.why_no_mount()
    if why:
        print('SKIPPED corruption: %s' % why)
        print('0 passed, 0 failed, 1 skipped')
        return 0
    began = time.monotonic()
    shm = '/dev/shm' if os.path.isdir('/dev/shm') else None
    with tempfile.TemporaryDirectory(dir=shm, prefix='winch-corruption-') as folder:
        session = Session(folder, winch, fake, options.keep)
        made = [Base(folder, name) for name in bases.GEOMETRIES]
        session.restart()
        try:
            for base in made:
                note_pristine(session, base)
            for i in range(options.count):
                if i % RESTART_EVERY == RESTART_EVERY - 1:
                    session.restart()
                run_one(session, made[i % len(made)], options.seed + i)
        finally:
            session.storage.stop()
        summary(session, options.count, time.monotonic() - began)
    return 1 if session.bad else 0


if __name__ == '__main__':
    sys.exit(main())
