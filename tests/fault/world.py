# SPDX-License-Identifier: GPL-3.0-or-later
"""The small disk that is migrated again and again, the server, and what a run has to say."""
import os
import shutil
import subprocess

import contents
import expectation
import kinds
import ntfs_image
from local_storage import LocalStorage

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
SECONDS = 30
LONG = os.environ.get('WINCH_TORTURE') == 'long'
LEAKS = os.path.join(TOP, 'tests', 'corruption', 'leaks.supp')


def program(name):
    return os.path.join(TOP, 'build', name)


def torture_program():
    """With sanitizers where that is built, so that what an error path forgets is seen."""
    sanitized = os.path.join(TOP, 'build-sanitized', 'tests', 'fault', 'winch-torture')
    return sanitized if os.path.exists(sanitized) else program('tests/fault/winch-torture')


def make_image(path):
    os.mkdir(os.path.dirname(path))
    ntfs_image.make_volume(path, 16 * MIB, 'TORTURE')
    tree = expectation.Tree()
    with ntfs_image.Mounted(path, 'streams_interface=windows,compression') as tree.root:
        for size in (0, 1, 700, 5000, 100000, 2 * MIB):
            tree.file('size-%d.bin' % size, contents.noise(size, size))
        tree.stream('size-700.bin', 'Zone.Identifier', b'ZoneId=3')
        tree.stream('size-700.bin', 'large', contents.noise(9, 9000))
        tree.directory('lznt1')
        tree.attribute('lznt1', 'system.ntfs_attrib_be', kinds.COMPRESSED)
        tree.file('lznt1/text.txt', contents.text(2000))
        os.link(tree.at('size-5000.bin'), tree.at('another name'))
        # Large enough for parts; nearly all of it is one hole.
        tree.pieces('large.bin', [(0, b'begin'), (65 * MIB, b'end')], 66 * MIB)


class Place:
    """A server, and a state folder anew for each run."""

    def __init__(self, folder, image, name=''):
        self.folder, self.image = str(folder), image
        # winch locks a destination for the whole machine.
        self.bucket_name = 'torture-%d%s' % (os.getpid(), name)
        self.storage = LocalStorage(program('fake-gcs'), '--dir',
                                    os.path.join(self.folder, 'bucket'))
        self.number = 0
        self.reference = None
        self.counts = {}

    def state(self):
        return os.path.join(self.folder, 'state%d' % self.number)

    def next(self):
        """To another prefix and state folder; what the last one holds would fill the disk."""
        bucket = self.bucket()
        for name in bucket.list(self.prefix() + '/'):
            bucket.delete(name)
        shutil.rmtree(self.state(), ignore_errors=True)
        self.number += 1

    def prefix(self):
        return 'p%d' % self.number

    def bucket(self):
        return self.storage.bucket(self.bucket_name)

    def command(self, winch, *options):
        """The same options each time: with others a run would not be continued."""
        return [winch, 'migrate', self.image, 'gs://%s/%s' % (self.bucket_name, self.prefix()),
                '--state-dir', self.state(), '--connections', '3', '--part-size', '32M',
                '--progress', 'none', *options]

    def environment(self, **more):
        return dict(os.environ, STORAGE_EMULATOR_HOST=self.storage.url, TMPDIR=self.folder,
                    LSAN_OPTIONS='print_suppressions=0:suppressions=' + LEAKS, **more)

    def run(self, winch='winch', **faults):
        """(exit code, messages)"""
        environment = self.environment(**{key: str(value) for key, value in faults.items()})
        if faults and winch == 'winch':
            environment['LD_PRELOAD'] = program('tests/fault/failing_calls.so')
        path = torture_program() if winch != 'winch' else program('winch')
        done = subprocess.run(self.command(path), check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                              timeout=SECONDS)
        return done.returncode, done.stderr.decode(errors='replace')

    def objects(self):
        """{name below the prefix: (size, crc32c)} without the run's own, and without the text that
        names the prefix."""
        prefix = self.prefix() + '/'
        return {name[len(prefix):]: (item['size'], item['crc32c']) for name, item in
                self.bucket().list(prefix).items()
                if not name.startswith((prefix + '.winch/runs/', prefix + '.winch/README.txt'))}

    def learn(self):
        """An undisturbed run: what the bucket holds then."""
        code, messages = self.run()
        assert code == 0, messages
        self.reference = self.objects()
        assert len(self.reference) >= 9, self.reference

    def under(self, where):
        return os.path.dirname(self.image) if where == 'image' else self.folder

    def count(self, kind, where=None):
        """How many calls of that kind an undisturbed run makes."""
        winch = 'torture' if kind == 'alloc' else 'winch'
        if (winch, where) not in self.counts:
            self.next()
            name = os.path.join(self.folder, 'counts')
            under = {'FAULT_UNDER': self.under(where)} if where else {}
            code, messages = self.run(winch, FAULT_COUNTS=name, **under)
            assert code == 0, messages
            with open(name, encoding='ascii') as stream:
                self.counts[winch, where] = dict(line.split() for line in stream)
        return int(self.counts[winch, where][kind])

    def close(self):
        assert self.storage.stop()


def check_end(code, messages, right):
    assert 'Sanitizer' not in messages and 'runtime error' not in messages, messages
    assert code == 0 or code in right, (code, messages)
    if code != 0:
        said = messages[messages.index('winch'):] if 'winch' in messages else ''
        assert len(said) > 15, messages
