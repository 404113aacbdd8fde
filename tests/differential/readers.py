# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of NTFS that others wrote, all asked in one way: the bytes of a stream, by record number
and stream name; and which records a walk of the directories reaches."""
import hashlib
import json
import os
import subprocess
import sys

import ntfs_image

HERE = os.path.dirname(os.path.realpath(__file__))
BLOCK = 1 << 20
SECONDS_MAX = 300
ROOT = 5
FIRST_FREE = 24         # records below are NTFS's own
ENVIRONMENT = {**os.environ, 'LC_ALL': 'C.UTF-8'}


class Got:
    """What a reader gave for a stream: `refused` is why, or None; else size and SHA-256."""

    def __init__(self, size=0, sha256='', zeros=False, refused=None):
        self.size = size
        self.sha256 = sha256
        self.zeros = zeros
        self.refused = refused

    def __str__(self):
        return ('refused: ' + self.refused if self.refused is not None else '%d bytes %s%s' % (
            self.size, self.sha256[:12], ' (zeros)' if self.zeros else ''))


class Digest:
    """Size, SHA-256, and whether all was zeros, of bytes that come in blocks."""

    def __init__(self):
        self.sha256 = hashlib.sha256()
        self.size = 0
        self.zeros = True

    def add(self, block):
        self.sha256.update(block)
        self.size += len(block)
        self.zeros = self.zeros and block.count(0) == len(block)

    def got(self):
        return Got(self.size, self.sha256.hexdigest(), self.zeros and self.size > 0)


def output_of(command):
    """What a program writes, hashed; refused when it ends with an error."""
    digest = Digest()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        while True:
            block = process.stdout.read(BLOCK)
            if not block:
                break
            digest.add(block)
        said = process.stderr.read().decode('utf-8', 'replace').strip()
    if process.returncode != 0:
        return Got(refused='exit %d: %s' % (process.returncode, ' '.join(said.split())[:200]))
    # ntfscat tells of some errors by words alone.
    if digest.size == 0 and 'error' in said.lower():
        return Got(refused=' '.join(said.split())[:200])
    return digest.got()


def text_of(command):
    """(exit code, output) of a listing."""
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, env=ENVIRONMENT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS_MAX)
    return done.returncode, done.stdout


class NtfsCat:
    """libntfs-3g, by its own programs."""
    name = 'ntfscat'

    def absent(self):
        return None if ntfs_image.find_program('ntfscat') else 'ntfscat is not installed (ntfs-3g)'

    def version(self):
        return 'libntfs-3g ' + package_version('libntfs-3g89')

    def read(self, volume, wanted):
        program = ntfs_image.find_program('ntfscat')
        out = {}
        for record, stream in wanted:
            name = ['-n', stream] if stream else []
            out[record, stream] = output_of([program, '-f', '-i', str(record), '-a', '0x80', *name,
                                             volume])
        return out

    def reached(self, volume):
        code, text = text_of([ntfs_image.find_program('ntfsls'), '-f', '-R', '-i', '-a', '-s',
                              volume])
        if code != 0:
            return None
        words = (line.split(None, 1)[0] for line in text.split(b'\n') if line.strip())
        return {int(word) for word in words if word.isdigit()}


class Icat:
    """The Sleuth Kit. A named stream is asked for by its attribute id, which fls tells."""
    name = 'icat'

    def absent(self):
        return None if ntfs_image.find_program('icat') else 'icat is not installed (sleuthkit)'

    def version(self):
        return 'Sleuth Kit ' + package_version('sleuthkit')

    def list(self, volume):
        """[(record, type, id, stream)], or None."""
        code, text = text_of([ntfs_image.find_program('fls'), '-u', '-r', '-p', volume])
        if code != 0:
            return None
        rows = []
        for line in text.split(b'\n'):
            kind, _, path = line.partition(b':\t')
            numbers = kind.split(b' ')[-1].split(b'-')
            if len(numbers) == 3 and all(number.isdigit() for number in numbers):
                stream = path.rsplit(b':', 1)[1] if b':' in path else b''
                rows.append((*map(int, numbers), stream))
        return rows

    def read(self, volume, wanted):
        program = ntfs_image.find_program('icat')
        ids = {(record, stream): number
               for record, kind, number, stream in self.list(volume) or () if kind == 128}
        out = {}
        for record, stream in wanted:
            place = str(record)
            if stream and (record, stream) not in ids:
                out[record, stream] = Got(refused='fls lists no such stream')
                continue
            if stream:
                place = '%d-128-%d' % (record, ids[record, stream])
            out[record, stream] = output_of([program, volume, place])
        return out

    def reached(self, volume):
        rows = self.list(volume)
        return None if rows is None else {row[0] for row in rows}


class FsNtfs:
    """libfsntfs, in a process of its own: fsntfs_read.py."""
    name = 'libfsntfs'

    def absent(self):
        done = subprocess.run(['/usr/bin/python3', '-c', 'import pyfsntfs'], check=False,
                              stderr=subprocess.DEVNULL)
        return None if done.returncode == 0 else 'python3-libfsntfs is not installed'

    def version(self):
        return 'libfsntfs ' + package_version('libfsntfs1')

    def ask(self, volume, wanted):
        done = subprocess.run(
            ['/usr/bin/python3', '-B', os.path.join(HERE, 'fsntfs_read.py'), volume], check=False,
            input=json.dumps([(record, stream.decode('utf-8', 'surrogatepass'))
                              for record, stream in wanted]).encode(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS_MAX)
        if done.returncode != 0:
            return None, 'exit %d: %s' % (done.returncode, done.stderr[-200:].decode())
        return json.loads(done.stdout), None

    def read(self, volume, wanted):
        answer, why = self.ask(volume, wanted)
        if answer is None:
            return {key: Got(refused=why) for key in wanted}
        return {key: Got(**fields) for key, fields in zip(wanted, answer['streams'])}

    def reached(self, volume):
        answer, _ = self.ask(volume, [])
        return None if answer is None else set(answer['reached'])


class SevenZip:
    """7-Zip takes a volume for an archive; a stream is asked for by the path that it lists."""
    name = '7zz'

    def absent(self):
        return None if ntfs_image.find_program('7zz') else '7zz is not installed (7zip)'

    def version(self):
        return '7-Zip ' + package_version('7zip')

    def list(self, volume):
        """[(record, path, is an alternate stream, size)], or None when it is no archive to it."""
        code, text = text_of([ntfs_image.find_program('7zz'), 'l', '-slt', '-sns', volume])
        if code != 0:
            return None
        rows = []
        for block in text.partition(b'\n----------\n')[2].split(b'\n\n'):
            # A name may hold a line end only as `_`, so that each line is one field.
            fields = dict(line.split(b' = ', 1) for line in block.split(b'\n') if b' = ' in line)
            if fields.get(b'iNode', b'').isdigit() and b'Path' in fields:
                rows.append((int(fields[b'iNode']), fields[b'Path'],
                             fields.get(b'Alternate Stream') == b'+',
                             fields.get(b'Size', b'')))
        return rows

    def read(self, volume, wanted):
        rows = self.list(volume)
        if rows is None:
            return {key: Got(refused='cannot open the file as archive') for key in wanted}
        paths = {}
        for record, path, is_stream, size in rows:
            key = (record, path.rsplit(b':', 1)[1] if is_stream else b'')
            paths.setdefault(key, (path, size))
        program = ntfs_image.find_program('7zz')
        out = {}
        for key in wanted:
            if key not in paths:
                out[key] = Got(refused='does not list it')
                continue
            # Without -sns- the streams of a file would follow its content.
            streams = '-sns' if key[1] else '-sns-'
            got = output_of([program, 'x', '-so', '-bd', '-spd', streams, volume,
                             b'-i!' + paths[key][0]])
            if got.refused is None and got.size == 0 and paths[key][1] != b'0':
                got = Got(refused='finds nothing under the name that it lists')
            out[key] = got
        return out

    def reached(self, volume):
        rows = self.list(volume)
        return None if rows is None else {
            record for record, path, is_stream, _ in rows
            if not is_stream and not path.startswith((b'[SYSTEM]', b'[UNKNOWN]', b'[DELETED]'))}


def package_version(name):
    done = subprocess.run(['dpkg-query', '-W', '-f=${Version}', name], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout or '?'


READERS = (NtfsCat(), Icat(), FsNtfs(), SevenZip())

