# SPDX-License-Identifier: GPL-3.0-or-later
"""What a right reader finds in an image: recorded while it is written, kept as a TSV file.

Columns: path, stream, size, sha256, want. In paths `\\\\` is a backslash and `\\xNN` another byte.
want: "data" (exactly these bytes), "dir", "link" (a reparse point without data), or a reason code
with which the entry is named instead; alternatives are separated by "|".
"""
import hashlib
import os

HEADER = 'path\tstream\tsize\tsha256\twant'


def escape(path):
    out = []
    for char in path.decode('utf-8', 'surrogateescape'):
        code = ord(char)
        if char == '\\':
            out.append('\\\\')
        elif code < 0x20 or code == 0x7f:
            out.append('\\x%02x' % code)
        elif 0xdc80 <= code <= 0xdcff:
            out.append('\\x%02x' % (code - 0xdc00))
        else:
            out.append(char)
    return ''.join(out)


def unescape(text):
    out = bytearray()
    index = 0
    while index < len(text):
        if text[index] != '\\':
            out += text[index].encode('utf-8', 'surrogatepass')
            index += 1
        elif text[index + 1] == 'x':
            out.append(int(text[index + 2:index + 4], 16))
            index += 4
        else:
            out += text[index + 1].encode()
            index += 2
    return bytes(out)


class Row:
    """One stream, folder or link."""

    def __init__(self, path, stream, size, sha256, want):
        self.path = path
        self.stream = stream
        self.size = size
        self.sha256 = sha256
        self.want = want

    def wants(self):
        return self.want.split('|')

    def line(self):
        return '\t'.join((escape(self.path), escape(self.stream), str(self.size), self.sha256,
                          self.want))


def read(name):
    """The rows of one of our own files."""
    with open(name, encoding='utf-8') as stream:
        lines = stream.read().split('\n')
    assert lines[0] == HEADER, name
    rows = []
    for line in filter(None, lines[1:]):
        path, stream, size, sha256, want = line.split('\t')
        rows.append(Row(unescape(path), unescape(stream), int(size), sha256, want))
    return rows


class Tree:
    """Writes below a mount point and records what it wrote. Paths are str or bytes with '/'."""

    def __init__(self):
        self.root = None
        self.rows = []

    def at(self, path):
        return os.path.join(self.root, os.fsencode(path))

    def record(self, path, stream, data, want):
        self.rows.append(Row(os.fsencode(path), os.fsencode(stream), len(data),
                             hashlib.sha256(data).hexdigest(), want))

    def directory(self, path, want='dir'):
        """A folder with all that is missing above it."""
        parts = os.fsencode(path).split(b'/')
        for count in range(1, len(parts) + 1):
            folder = b'/'.join(parts[:count])
            if not os.path.isdir(self.at(folder)):
                os.mkdir(self.at(folder))
                self.rows.append(Row(folder, b'', 0, '-', want if count == len(parts) else 'dir'))

    def file(self, path, data=b'', want='data'):
        path = os.fsencode(path)
        if b'/' in path:
            self.directory(path.rsplit(b'/', 1)[0])
        with open(self.at(path), 'wb') as stream:
            stream.write(data)
        self.record(path, '', data, want)

    def stream(self, path, name, data, want='data'):
        with open(self.at(path) + b':' + os.fsencode(name), 'wb') as stream:
            stream.write(data)
        self.record(path, name, data, want)

    def pieces(self, path, pieces, size=None):
        """A file from (offset, bytes) pieces with holes between them; written in that order."""
        digest = hashlib.sha256()
        end = 0
        with open(self.at(path), 'wb') as stream:
            for offset, data in pieces:
                stream.seek(offset)
                stream.write(data)
            if size is not None:
                stream.truncate(size)
        for offset, data in pieces:
            digest.update(bytes(offset - end))
            digest.update(data)
            end = offset + len(data)
        digest.update(bytes((size or end) - end))
        self.rows.append(Row(os.fsencode(path), b'', size or end, digest.hexdigest(), 'data'))

    def blocks(self, path, blocks):
        """A large file from an iterator of blocks, none of which is kept."""
        digest = hashlib.sha256()
        size = 0
        path = os.fsencode(path)
        if b'/' in path:
            self.directory(path.rsplit(b'/', 1)[0])
        with open(self.at(path), 'wb') as stream:
            for block in blocks:
                stream.write(block)
                digest.update(block)
                size += len(block)
        self.rows.append(Row(path, b'', size, digest.hexdigest(), 'data'))

    def hard_link(self, path, name):
        os.link(self.at(path), self.at(name))
        first = next(r for r in self.rows if r.path == os.fsencode(path) and not r.stream)
        self.rows.append(Row(os.fsencode(name), b'', first.size, first.sha256, first.want))

    def attribute(self, path, name, value):
        os.setxattr(self.at(path), name, value)

    def write(self, name):
        with open(name, 'w', encoding='utf-8') as stream:
            stream.write(HEADER + '\n')
            for row in sorted(self.rows, key=lambda row: (row.path, row.stream)):
                stream.write(row.line() + '\n')
