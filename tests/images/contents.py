# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes for the test images: the same on every run."""
import random
import struct
import zlib

BLOCK = 1 << 20


def noise(seed, size):
    """Bytes that do not compress."""
    return random.Random(seed).randbytes(size)


def noise_blocks(seed, size):
    """Blocks of 1 MiB that all differ, made at memory speed."""
    base = noise(seed, BLOCK)
    for offset in range(0, size, BLOCK):
        block = struct.pack('<QQ', seed, offset) + base[16:]
        yield block[:min(BLOCK, size - offset)]


def text(lines, word='the quick brown fox'):
    return b''.join(b'line %06d %s\r\n' % (i, word.encode()) for i in range(lines))


def photo(seed, width=320, height=200):
    """A real PNG picture: soft stripes whose colours depend on the seed."""
    rnd = random.Random(seed)
    red, green, blue = rnd.randrange(1, 7), rnd.randrange(1, 7), rnd.randrange(1, 7)
    rows = b''.join(
        b'\0' + b''.join(bytes(((x * red + y) & 255, (x + y * green) & 255, (x * y * blue) & 255))
                         for x in range(width)) for y in range(height))

    def chunk(kind, data):
        body = kind + data
        return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))
    head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows, 6))
            + chunk(b'IEND', b''))


def utf16(value):
    return value.encode('utf-16le')


def reparse(tag, data, guid=b''):
    """A $REPARSE_POINT value; tags that are not Microsoft's carry a GUID."""
    return struct.pack('<IHH', tag, len(data), 0) + guid + data


def symlink(target, shown, relative):
    target, shown = utf16(target), utf16(shown)
    head = struct.pack('<HHHHI', len(shown), len(target), 0, len(shown), int(relative))
    return reparse(0xA000000C, head + shown + target)


def junction(target, shown):
    target, shown = utf16(target), utf16(shown)
    head = struct.pack('<HHHH', 0, len(target), len(target) + 2, len(shown))
    return reparse(0xA0000003, head + target + b'\0\0' + shown + b'\0\0')


def extended_attributes(pairs):
    """An $EA value: each entry's first field is its own length, a multiple of 4."""
    out = b''
    for name, value in pairs:
        body = struct.pack('<BBH', 0, len(name), len(value)) + name + b'\0' + value
        size = (4 + len(body) + 3) & ~3
        out += struct.pack('<I', size) + body + bytes(size - 4 - len(body))
    return out
