# SPDX-License-Identifier: GPL-3.0-or-later
"""Deduplicated files, and chunk stores as Windows Data Deduplication lays them out, as far as
public sources say how (imager/volume/dedup.h). Nothing here has met a store made by Windows."""
import functools
import hashlib
import struct
import uuid
import zlib

import contents

TAG = 0x80000013
ROOT = 'System Volume Information/Dedup/ChunkStore'
FIRST = 0x5000      # of the first record in a container, behind header and redirection table
TABLE = 0x3000
RECORD_ALIGN = 8


@functools.lru_cache(maxsize=None)
def compress(data):
    """Plain LZ77 XPRESS, with greedy matches: not what is smallest."""
    out, flags, flag_at, count = bytearray(4), 0, 0, 0
    seen, half_at, at = {}, None, 0

    def flag(bit):
        nonlocal flags, flag_at, count
        if count == 32:
            struct.pack_into('<I', out, flag_at, flags)
            flag_at, flags, count = len(out), 0, 0
            out.extend(bytes(4))
        flags |= bit << (31 - count)
        count += 1

    while at < len(data):
        key = data[at:at + 3]
        start = seen.get(key, -1) if len(key) == 3 else -1
        seen[key] = at
        if start < 0 or at - start > 8192:
            flag(0)
            out.append(data[at])
            at += 1
            continue
        length = 3
        while at + length < len(data) and data[start + length] == data[at + length]:
            length += 1
        flag(1)
        more = length - 3
        out += struct.pack('<H', (at - start - 1) << 3 | min(more, 7))
        if more >= 7:
            rest = more - 7
            if half_at is None:
                half_at = len(out)
                out.append(min(rest, 15))
            else:
                out[half_at] |= min(rest, 15) << 4
                half_at = None
            if rest >= 15:
                out.append(min(rest - 15, 255))
                if rest - 15 >= 255:
                    out += struct.pack('<H', more if more < 65536 else 0)
                    if more >= 65536:
                        out += struct.pack('<I', more)
        at += length
    flags |= (1 << (32 - count)) - 1 if count < 32 else 0
    struct.pack_into('<I', out, flag_at, flags)
    return bytes(out)


def digest(data):
    return hashlib.sha512(data).digest()[:32]


class Container:
    """One .ccc file. `redirected`: number → where it really is."""

    def __init__(self, number, generation=1):
        self.number = number
        self.generation = generation
        self.records = bytearray()
        self.redirected = {}

    def add(self, header, payload):
        offset = FIRST + len(self.records)
        record = header + payload
        self.records += record + bytes(-len(record) % RECORD_ALIGN)
        return offset

    def name(self):
        return '%08x.%08x.ccc' % (self.number, self.generation)

    def content(self):
        head = bytearray(FIRST)
        head[:4] = b'Cthr'
        table = struct.pack('<4sIII', b'Rrtl', 0x030301, len(self.redirected), 8) + bytes(16)
        for number in sorted(self.redirected):
            table += struct.pack('<II', number, self.redirected[number])
        head[TABLE:TABLE + len(table)] = table
        return bytes(head) + bytes(self.records)


class Store:
    """A chunk store: chunks are kept once, maps each time. Hooks for damage are arguments."""

    def __init__(self, seed=1, data_containers=1):
        self.guid = uuid.UUID(bytes=contents.noise(seed, 16))
        self.streams = [Container(1)]
        self.data = [Container(i + 1) for i in range(data_containers)]
        self.numbers = 0
        self.known = {}

    def folder(self):
        return '%s/{%s}.ddp' % (ROOT, str(self.guid).upper())

    def chunk(self, plain, packed=None, hashed=None, compression=None):
        """Store one chunk, return what a map's entry says of it (without its end)."""
        if packed is None and hashed is None and plain in self.known:
            return self.known[plain]
        self.numbers += 1
        number = self.numbers
        stored = plain if packed is None else packed
        container = self.data[number % len(self.data)]
        kind = compression if compression is not None else 2 if packed else 0
        value = hashed or digest(plain)
        header = (struct.pack('<4sIIIHHIIIII', b'Ckhr', 0x030301, number, len(stored), 1, 0x28,
                              8, 8, 8, kind, 2) + value + bytes(16))
        offset = container.add(header, stored)
        entry = (number, container.number, offset, container.generation, value, len(stored))
        if hashed is None:
            self.known[plain] = entry
        return entry

    def map(self, entries, ends, container=None):
        """Store a map, return number, container, offset, size and digest."""
        self.numbers += 1
        container = container or self.streams[0]
        body = b'Smap' + struct.pack('<I', 0x030301)
        for (number, data, offset, generation, value, stored), end in zip(entries, ends):
            body += struct.pack('<IIIIQ32sII', number, data, offset, generation, end, value, stored,
                                0)
        value = digest(body)[:16]
        header = (struct.pack('<4sIIIHHIIII', b'Ckhr', 0x030301, self.numbers, len(body), 2, 0x38,
                              8, 8, 8, 0) + bytes(56 - 36) + value + bytes(32))
        assert len(header) == 104
        offset = container.add(header, body)
        return self.numbers, container.number, offset, len(body), value

    def add(self, chunks, packed=True):
        """Store chunks and their map, return the part that a reparse point names."""
        entries, ends, at = [], [], 0
        for plain in chunks:
            small = compress(plain) if packed else plain
            entries.append(self.chunk(plain, small if len(small) < len(plain) else None))
            at += len(plain)
            ends.append(at)
        return (self.map(entries, ends), 0, at)

    def write(self, tree, skip=()):
        """Write the containers; `skip` leaves out their names."""
        for name, containers in (('Stream', self.streams), ('Data', self.data)):
            for container in containers:
                if name + '/' + container.name() not in skip:
                    tree.file('%s/%s/%s' % (self.folder(), name, container.name()),
                              container.content())


def part_bytes(part):
    (number, container, offset, size, value), begin, end = part
    return struct.pack('<IIIIIIII16sQQ', number, container, offset, 0, 1, 0, size, 64, value, end,
                       begin)


def sealed(body):
    return body + struct.pack('<I', zlib.crc32(body))


def block(magic, items):
    """Typed items behind a header: (type, bytes)."""
    at = 16 + 8 * len(items)
    head, tail = b'', b''
    for kind, value in items:
        head += struct.pack('<HHI', kind, len(value), at + len(tail))
        tail += value
    rest = struct.pack('<IHH', at + len(tail), 0, len(items)) + head + tail
    return magic + struct.pack('<I', zlib.crc32(rest)) + rest


def reparse_long(guid, parts, size, version=(3, 1), revision=1):
    first = parts[0][0]
    data = block(b'DdRp', [(10, struct.pack('<I', 1)), (14, struct.pack('<II', first[0], first[1])),
                           (13, b''.join(map(part_bytes, parts)))])
    recall = block(b'RbRp', [(10, struct.pack('<I', 1)), (9, bytes(4))])
    body = block(b'FeRp', [(10, struct.pack('<I', revision)), (10, bytes(4)), (12, guid.bytes_le),
                           (11, bytes(8)), (6, struct.pack('<Q', size)), (5, bytes(4)),
                           (9, bytes(4)), (13, recall), (13, data)])
    return sealed(struct.pack('<BBH', *version, 4 + len(body) + 4) + body)


def reparse_fixed(guid, parts, size):
    """Version 2.1: places counted from the tag, of which this is what comes behind 8 bytes."""
    data = b''.join(map(part_bytes, parts))
    body = bytearray(156 - 8) + data
    struct.pack_into('<BBH', body, 0, 2, 1, len(body) + 4)
    struct.pack_into('<HH', body, 84 - 8, len(data), 156 - 8)
    body[124 - 8:140 - 8] = guid.bytes_le
    return sealed(bytes(body))


def reparse_short(guid, parts, size):
    """Version 1.2: one part; the end of the file stands before it."""
    body = bytearray(64 - 8) + part_bytes(parts[0])[:48] + contents.noise(9, 16)
    struct.pack_into('<BBH', body, 0, 1, 2, len(body) + 4)
    struct.pack_into('<Q', body, 16 - 8, size)
    body[32 - 8:48 - 8] = guid.bytes_le
    return sealed(bytes(body))


def write_one(tree, path, size, reparse, want):
    """A hole of `size` bytes with the tag; `want` is the content, or the reason of the failure."""
    with open(tree.at(path), 'wb') as stream:
        stream.truncate(size)
    tree.attribute(path, 'system.ntfs_reparse_data', contents.reparse(TAG, reparse))
    if isinstance(want, bytes):
        tree.record(path, '', want, 'data')
    else:
        tree.record(path, '', bytes(size), want)


def cut(data, sizes):
    """Pieces of the sizes in turn, to the end."""
    out, at, turn = [], 0, 0
    while at < len(data):
        out.append(data[at:at + sizes[turn % len(sizes)]])
        at += len(out[-1])
        turn += 1
    return out
