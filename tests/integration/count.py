#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Count the records of a volume without winch: ntfscat reads $MFT, this file reads its headers.

Usage: count.py IMAGE [FIRST_BYTE [LENGTH]]
"""
import contextlib
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'images'))

import ntfs_image                           # noqa: E402

IN_USE = 1
FLAGS_AT, BASE_AT = 22, 32
RESERVED = 24


class Counts:
    """`in_use`: header flag or bitmap; `extension`: those with a base; `system`: below record 24;
    `torn`: what libntfs-3g marks BAAD, since its fix-ups do not fit."""

    def __init__(self):
        self.in_use = 0
        self.extension = 0
        self.system = 0
        self.only_header = []
        self.only_bitmap = []
        self.torn = []

    def __str__(self):
        return ('records in use %d, extension %d, below 24 %d, header only %s, bitmap only %s, '
                'torn %s' % (self.in_use, self.extension, self.system, self.only_header,
                             self.only_bitmap, self.torn))


def record_size(boot):
    """Byte 64 of the boot sector: clusters, or minus the binary logarithm of bytes."""
    value = struct.unpack_from('<b', boot, 64)[0]
    if value < 0:
        return 1 << -value
    sector = struct.unpack_from('<H', boot, 11)[0]
    per_cluster = boot[13] if boot[13] <= 0x80 else 1 << (256 - boot[13])
    return value * per_cluster * sector


def count_records(table, bitmap, size):
    counts = Counts()
    for number in range(len(table) // size):
        record = table[number * size:(number + 1) * size]
        is_file = record[:4] == b'FILE'
        flag = is_file and bool(struct.unpack_from('<H', record, FLAGS_AT)[0] & IN_USE)
        bit = number // 8 < len(bitmap) and bool(bitmap[number // 8] >> (number % 8) & 1)
        if not flag and not bit:
            continue
        counts.in_use += 1
        counts.system += number < RESERVED
        if flag != bit:
            (counts.only_header if flag else counts.only_bitmap).append(number)
        if record[:4] == b'BAAD':
            counts.torn.append(number)
        # Not only the record number: extensions of $MFT itself point to record 0, sequence 1.
        if is_file and struct.unpack_from('<Q', record, BASE_AT)[0] != 0:
            counts.extension += 1
    return counts


def ntfscat(image, *options):
    done = subprocess.run([ntfs_image.find_program('ntfscat'), '-f', '-i', '0', *options, image],
                          check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return done.stdout


@contextlib.contextmanager
def as_volume(image, first_byte, length):
    """A path that begins with the volume: the image, a loop device on it, or a sparse copy."""
    if not first_byte and not length:
        yield image
        return
    limit = ['--sizelimit', length] if length else []
    try:
        device = ntfs_image.run('losetup', '-r', '-o', first_byte, *limit, '-f', '--show', image)
    except ntfs_image.CannotMake:
        with tempfile.TemporaryDirectory(prefix='winch-count-') as folder:
            volume = os.path.join(folder, 'volume')
            ntfs_image.copy_sparse(image, volume, 0, first_byte, length)
            yield volume
        return
    device = device.decode().strip()
    try:
        yield device
    finally:
        ntfs_image.run('losetup', '-d', device)


def count_volume(image, first_byte=0, length=None):
    """Counts of the volume at an offset of an image."""
    with as_volume(image, first_byte, length) as volume:
        with open(volume, 'rb') as stream:
            boot = stream.read(512)
        return count_records(ntfscat(volume), ntfscat(volume, '-a', '0xb0'), record_size(boot))


if __name__ == '__main__':
    print(count_volume(sys.argv[1], *map(int, sys.argv[2:])))
