#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume of chance: files, folders, streams, links, and all that happens to them in time. The
generator keeps for itself what stands there in the end; the same seed gives the same tree.

Usage: random_tree.py SEED IMAGE       makes IMAGE and says what it holds
"""
import os
import random
import stat
import struct
import sys

import contents
import expectation
import ntfs_image
import wof
from random_names import random_name

MIB = 1 << 20
KIB = 1 << 10
BUDGET = 9 * MIB            # bytes of content at any time
FILE_MAX = 1500 * KIB
CLUSTERS = (512, 1024, 2048, 4096, 4096, 4096, 8192, 65536)
COMPRESSED = bytes.fromhex('00000800')
PATH_MAX = 3500             # bytes; ntfs-3g and the mount point need the rest of 4,096
NS_FIRST, NS_LAST = 946684800 * 10**9, 1893456000 * 10**9
PLAIN_NAME = frozenset(b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.')


class File:
    """A file with all of its names; `link`: a reparse point without content of its own."""

    def __init__(self, data=b''):
        self.data = bytearray(data)
        self.streams = {}
        self.names = 1
        self.link = False
        self.packed = False     # CompactOS: neither written nor cut any more
        self.compressed = False
        self.times = None


class Folder:
    def __init__(self):
        self.children = {}
        self.streams = {}
        self.compressed = False
        self.times = None


class Unusable(Exception):
    """ntfs-3g could not do what it was told to: nobody knows what stands there now."""


class RandomTree:
    """make() writes the image; then walk() gives every (path, node)."""

    def __init__(self, seed, image):
        self.rnd = random.Random(seed)
        self.image = image
        self.mount = None
        self.top = Folder()
        self.used = 0
        self.done = []          # what was done, to be read when something is wrong
        self.wim = wof.load()
        rnd = self.rnd
        self.sector = 4096 if rnd.random() < 0.1 else 512
        self.cluster = rnd.choice(CLUSTERS) if self.sector == 512 else 4096
        self.may_compress = self.cluster <= 4096 and self.sector == 512

    # --- what to write -----------------------------------------------------------------------

    def size(self):
        rnd, cluster = self.rnd, self.cluster
        border = rnd.choice((cluster, 2 * cluster, 16 * cluster, 32 * cluster, 4096, 65536, 131072,
                             MIB, 700, 300, 1, 4096 + cluster))
        kind = rnd.random()
        if kind < 0.55:
            return min(FILE_MAX, max(0, border + rnd.choice((-1, 0, 1))))
        if kind < 0.8:
            return rnd.randrange(0, 1200)
        return rnd.randrange(0, rnd.choice((20000, 200000, FILE_MAX)))

    def content(self, size):
        """Blocks that do not compress, that do, and zeros; in pieces of odd and even length."""
        rnd = self.rnd
        out = bytearray()
        while len(out) < size:
            length = rnd.choice((100, 4096, self.cluster, 16 * self.cluster, 70001))
            kind = rnd.randrange(4)
            if kind == 0:
                out += rnd.randbytes(length)
            elif kind == 1:
                out += bytes(length)
            elif kind == 2:
                out += rnd.choice((b'the quick brown fox ', b'ab', b'x')) * (length // 8 + 1)
            else:
                word = rnd.randbytes(37)
                out += b''.join(word + struct.pack('<I', i) for i in range(length // 41 + 1))
        return bytes(out[:size])

    def fits(self, more):
        return self.used + more <= BUDGET

    # --- where -------------------------------------------------------------------------------

    def walk(self, folder=None, path=b''):
        """(path, node) of all that is there; a file with several names comes several times."""
        for name, node in list((folder or self.top).children.items()):
            below = path + b'/' + name if path else name
            yield below, node
            if isinstance(node, Folder):
                yield from self.walk(node, below)

    def at(self, path):
        return os.path.join(self.mount, path)

    def some(self, kind, wanted=lambda node: True):
        """(path, node, parent folder, name) by chance, or None."""
        found = [(path, node) for path, node in self.walk()
                 if isinstance(node, kind) and wanted(node)]
        if not found:
            return None
        path, node = self.rnd.choice(found)
        parent, _, name = path.rpartition(b'/')
        return path, node, self.folder_at(parent), name

    def folder_at(self, path):
        folder = self.top
        for name in filter(None, path.split(b'/')):
            folder = folder.children[name]
        return folder

    def place(self):
        """(path, folder, name) that is free, or None."""
        folders = [(b'', self.top)] + [(path, node) for path, node in self.walk()
                                       if isinstance(node, Folder)]
        # The youngest half more often: so trees get deep.
        if self.rnd.random() < 0.5:
            folders = folders[len(folders) // 2:]
        path, folder = self.rnd.choice(folders)
        name = random_name(self.rnd, list(folder.children))
        below = path + b'/' + name if path else name
        if folder is self.top and name.startswith(b'$'):
            return None         # NTFS's own files stand there
        if name in folder.children or len(below) > PATH_MAX:
            return None
        return below, folder, name

    # --- what happens ------------------------------------------------------------------------

    def new_file(self):
        place, size = self.place(), self.size()
        if place is None or not self.fits(size):
            return
        path, folder, name = place
        data = self.content(size)
        node = folder.children[name] = File(data)
        node.compressed = folder.compressed
        with open(self.at(path), 'wb') as stream:
            step = self.rnd.choice((size or 1, 4096, 10000, self.cluster))
            for offset in range(0, size, step):
                stream.write(data[offset:offset + step])
                if step != size and self.rnd.random() < 0.3:
                    stream.flush()
        self.used += size
        self.done.append(('new', path, len(node.data)))

    def new_folder(self):
        place = self.place()
        if place is None:
            return
        path, folder, name = place
        os.mkdir(self.at(path))
        node = folder.children[name] = Folder()
        node.compressed = folder.compressed
        if self.may_compress and self.rnd.random() < 0.3:
            os.setxattr(self.at(path), 'system.ntfs_attrib_be', COMPRESSED)
            node.compressed = True
        self.done.append(('folder', path, node.compressed))

    def write_at(self, path, data, offset, piece):
        """Change bytes of a file or stream; a gap becomes zeros."""
        with open(self.at(path), 'r+b') as stream:
            stream.seek(offset)
            stream.write(piece)
        if offset > len(data):
            data.extend(bytes(offset - len(data)))
        data[offset:offset + len(piece)] = piece

    def rewrite(self):
        found = self.some(File, lambda node: not node.link and not node.packed)
        if found is None:
            return
        path, node, _, _ = found
        for _ in range(self.rnd.randrange(1, 5)):
            length = self.rnd.randrange(1, self.rnd.choice((10, 5000, 100000)))
            reach = len(node.data) + self.rnd.choice((0, 0, 1, self.cluster, 200000))
            offset = self.rnd.randrange(0, reach + 1)
            grows = max(0, offset + length - len(node.data))
            if offset + length > FILE_MAX or not self.fits(grows):
                continue
            self.write_at(path, node.data, offset, self.content(length))
            self.used += grows
            self.done.append(('write', path, offset, length))

    def cut(self):
        found = self.some(File, lambda node: not node.link and not node.packed)
        if found is None:
            return
        path, node, _, _ = found
        size = min(FILE_MAX, self.rnd.choice((
            0, len(node.data) // 2, max(0, len(node.data) - 1), len(node.data) + 1,
            len(node.data) + self.cluster, self.size())))
        if not self.fits(size - len(node.data)):
            return
        os.truncate(self.at(path), size)
        self.used += size - len(node.data)
        if size < len(node.data):
            del node.data[size:]
        node.data.extend(bytes(size - len(node.data)))
        self.done.append(('cut', path, size))

    def stream(self):
        """A new stream of a file or folder, another content for one, or one less."""
        kind = Folder if self.rnd.random() < 0.2 else File
        found = self.some(kind, lambda node: not getattr(node, 'packed', False))
        if found is None:
            return
        path, node, _, _ = found
        old = sorted(node.streams)
        name = self.rnd.choice(old) if old and self.rnd.random() < 0.4 else random_name(
            self.rnd, old, stream=True)
        # The name of a stream is not told by case: ntfs-3g finds the other one.
        if name not in old and name.upper() in {each.upper() for each in old}:
            return
        if name in old and self.rnd.random() < 0.4:
            os.unlink(self.at(path) + b':' + name)
            del node.streams[name]
            self.done.append(('stream gone', path, name))
            return
        size = min(self.size(), 300000)
        if not self.fits(size):
            return
        data = self.content(size)
        with open(self.at(path) + b':' + name, 'wb') as stream:
            stream.write(data)
        node.streams[name] = bytearray(data)
        self.used += size
        self.done.append(('stream', path, name, size))

    def many_streams(self):
        found = self.some(File, lambda node: not node.packed)
        if found is None:
            return
        path, node, _, _ = found
        for number in range(self.rnd.randrange(5, 60)):
            name = b'many%03d' % number
            data = self.content(self.rnd.randrange(0, 900))
            with open(self.at(path) + b':' + name, 'wb') as stream:
                stream.write(data)
            node.streams[name] = bytearray(data)
        self.done.append(('many streams', path))

    def hard_link(self):
        found = self.some(File, lambda node: not node.packed)
        if found is None:
            return
        for _ in range(self.rnd.choice((1, 1, 2, 20))):
            place = self.place()
            if place is None:
                continue
            path, folder, name = place
            os.link(self.at(found[0]), self.at(path))
            folder.children[name] = found[1]
            found[1].names += 1
            self.done.append(('hard link', found[0], path))

    def symlink(self):
        """As ntfs-3g makes them (a file that holds the target), or as Windows does."""
        place = self.place()
        if place is None:
            return
        path, folder, name = place
        target = 'target-%d' % self.rnd.randrange(1000)
        if self.rnd.random() < 0.5:
            os.symlink(target, self.at(path))
            folder.children[name] = File(b'IntxLNK\1' + contents.utf16(target))
            folder.children[name].packed = True
        else:
            with open(self.at(path), 'wb'):
                pass
            os.setxattr(self.at(path), 'system.ntfs_reparse_data',
                        contents.symlink(target, target, True))
            folder.children[name] = File()
            folder.children[name].link = folder.children[name].packed = True
        self.done.append(('symlink', path))

    def compact(self):
        """A CompactOS file."""
        place = self.place()
        size = max(1, self.size())
        if place is None or self.wim is None or not self.fits(size):
            return
        path, folder, name = place
        if folder.compressed:
            return              # Windows never packs CompactOS data a second time
        algorithm = self.rnd.choice(sorted(wof.ALGORITHMS))
        data = self.content(size)
        writer = expectation.Tree()
        writer.root = self.mount
        wof.write_one(writer, path, size, wof.compressed_stream(self.wim, data, algorithm),
                      struct.pack('<IIII', 1, 2, 1, wof.ALGORITHMS[algorithm][0]))
        node = folder.children[name] = File(data)
        node.packed = True
        self.used += size
        self.done.append(('compact', path, algorithm, size))

    def delete(self):
        found = self.some(File)
        if found is None:
            return
        path, node, parent, name = found
        os.unlink(self.at(path))
        del parent.children[name]
        node.names -= 1
        if node.names == 0:
            self.used -= len(node.data) + sum(map(len, node.streams.values()))
        self.done.append(('delete', path))

    def rename(self):
        found = self.some((File, Folder))
        place = self.place()
        if found is None or place is None:
            return
        path, node, parent, name = found
        target, folder, new_name = place
        if (target + b'/').startswith(path + b'/') or parent.children.get(name) is not node:
            return
        longest = max((len(below) for below, _ in self.walk()
                       if below.startswith(path + b'/')), default=len(path))
        if longest - len(path) + len(target) > PATH_MAX:
            return
        os.rename(self.at(path), self.at(target))
        del parent.children[name]
        folder.children[new_name] = node
        self.done.append(('rename', path, target))

    def interleave(self):
        """Files that grow in turn: many extents, and an attribute list when there are enough."""
        places = []
        for _ in range(2):
            place = self.place()
            if place is None or any(place[0] == other[0] for other in places):
                return
            places.append(place)
        rounds, step = self.rnd.choice((5, 30, 120)), self.cluster if self.cluster <= 4096 else 4096
        if not self.fits(2 * rounds * step):
            return
        nodes = []
        handles = []
        for path, folder, name in places:
            handles.append(os.open(self.at(path), os.O_CREAT | os.O_WRONLY))
            nodes.append(folder.children.setdefault(name, File()))
            nodes[-1].compressed = folder.compressed
        for _ in range(rounds):
            for handle, node in zip(handles, nodes):
                piece = self.rnd.randbytes(step)
                os.write(handle, piece)
                node.data += piece
        for handle in handles:
            os.close(handle)
        self.used += 2 * rounds * step
        self.done.append(('interleave', places[0][0], places[1][0], rounds))

    def crowd(self):
        """A folder with more names than one index block holds, of which many go again: records are
        used a second time, with another sequence number."""
        place = self.place()
        if place is None:
            return
        path, folder, name = place
        os.mkdir(self.at(path))
        node = folder.children[name] = Folder()
        node.compressed = folder.compressed
        for number in range(self.rnd.randrange(60, 400)):
            below = b'%06d %s' % (self.rnd.randrange(10**6), b'x' * self.rnd.randrange(0, 60))
            data = b'%d' % number * self.rnd.randrange(0, 200)
            if below in node.children or len(path) + len(below) > PATH_MAX:
                continue
            with open(self.at(path + b'/' + below), 'wb') as stream:
                stream.write(data)
            node.children[below] = File(data)
            node.children[below].compressed = folder.compressed
        for below in self.rnd.sample(sorted(node.children), len(node.children) // 2):
            os.unlink(self.at(path + b'/' + below))
            del node.children[below]
        self.done.append(('crowd', path, len(node.children)))

    # --- one after the other -----------------------------------------------------------------

    ACTIONS = (
        (new_file, 30), (new_folder, 10), (rewrite, 14), (cut, 10), (stream, 12), (many_streams, 1),
        (hard_link, 4), (symlink, 3), (compact, 3), (delete, 6), (rename, 5), (interleave, 2),
        (crowd, 1))

    def act(self, count):
        actions, weights = zip(*self.ACTIONS)
        for action in self.rnd.choices(actions, weights, k=count):
            try:
                action(self)
            except OSError as error:
                raise Unusable('%s after %s' % (error, self.done[-1:])) from error

    def leave_garbage(self):
        """What is free on the disk holds what somebody deleted, so that it can be recognised."""
        with open(self.at(b'garbage'), 'wb') as stream:
            for _ in range(self.rnd.randrange(0, 20)):
                stream.write(b'\xa5' * MIB)
        os.unlink(self.at(b'garbage'))

    def set_times(self):
        """Last of all, and folders after what is in them: everything else changes times."""
        for path, node in reversed(list(self.walk())):
            if stat.S_ISLNK(os.lstat(self.at(path)).st_mode):
                continue
            node.times = [self.rnd.randrange(NS_FIRST, NS_LAST) // 100 * 100 for _ in range(2)]
            os.utime(self.at(path), ns=tuple(node.times))

    def allocate(self):
        """Valid lengths below the size, as Windows programs leave them."""
        files = [(path, node) for path, node in self.walk()
                 if isinstance(node, File) and not node.packed and not node.compressed and
                 4096 < len(node.data) and node.names == 1 and PLAIN_NAME.issuperset(path)]
        for path, node in self.rnd.sample(files, min(len(files), 2)):
            size = len(node.data) + self.rnd.choice((1, 5000, 100000))
            if not self.fits(size):
                continue
            try:
                ntfs_image.run('ntfsfallocate', '-l', size, self.image, os.fsdecode(path))
            except ntfs_image.CannotMake:
                continue        # it declines some
            node.data.extend(bytes(size - len(node.data)))
            node.times = None
            self.done.append(('allocate', path, size))

    def make(self):
        label = 'R' * self.rnd.randrange(0, 12)
        ntfs_image.make_volume(self.image, (96 if self.cluster > 8192 else 40) * MIB, label,
                               cluster=self.cluster, sector=self.sector)
        options = 'streams_interface=windows' + (',compression' if self.may_compress else '')
        for session in range(self.rnd.randrange(1, 4)):
            with ntfs_image.Mounted(self.image, options) as self.mount:
                if session == 0:
                    self.leave_garbage()
                self.act(self.rnd.randrange(5, 90))
        with ntfs_image.Mounted(self.image, options) as self.mount:
            self.set_times()
        self.allocate()
        return self

    def rows(self):
        """As tests/integration/comparing.py takes them."""
        tree = expectation.Tree()
        seen = set()
        for path, node in self.walk():
            if isinstance(node, Folder):
                tree.record(path, '', b'', 'dir')
            else:
                tree.record(path, '', bytes(node.data), 'link' if node.link else 'data')
            if id(node) not in seen:
                seen.add(id(node))
                for name, data in node.streams.items():
                    tree.record(path, name, bytes(data), 'data')
        return tree.rows


def main(seed, image):
    tree = RandomTree(int(seed), image).make()
    for each in tree.done:
        print(*each)
    for row in sorted(tree.rows(), key=lambda row: (row.path, row.stream)):
        print(row.line())


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
