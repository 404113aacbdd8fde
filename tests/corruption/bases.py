# SPDX-License-Identifier: GPL-3.0-or-later
"""Small disks to be corrupted: one NTFS volume of a few MiB between bytes that are a secret."""
import os
import struct

import contents
import expectation
import kinds
import ntfs_image
import wof

MIB = 1 << 20
SECTOR = 512
FIRST_SECTOR = 2048
SECRET = b'WINCH-OUTSIDE-THE-VOLUME-SECRET!'     # 32 bytes; divides a sector
# name: (bytes of the volume, bytes of a cluster, bytes of a sector)
GEOMETRIES = {'c4096': (6 * MIB, 4096, 512), 'c512': (5 * MIB, 512, 512),
              'c1024': (5 * MIB, 1024, 512), 's4096': (12 * MIB, 4096, 4096)}


def fill(tree, with_compression):
    for size in (0, 1, 300, 690, 2000, 5000, 70000):
        tree.file('plain/size-%d.bin' % size, contents.noise(7 + size, size))
    tree.pieces('sparse.bin', [(5000, b'begin'), (200000, b'end')], 300000)
    tree.file('streams.txt', b'main')
    tree.stream('streams.txt', 'Zone.Identifier', b'[ZoneTransfer]\r\nZoneId=3\r\n')
    tree.stream('streams.txt', 'large', contents.noise(13, 20000))
    for i in range(60):
        tree.stream('plain/size-5000.bin', 'stream%02d' % i, b'data %d' % i * 40)
    for i in range(40):
        tree.file('folder/file number %03d with a rather long name.txt' % i, b'%d' % i * 9)
    os.link(tree.at('plain/size-2000.bin'), tree.at('another name'))
    if with_compression:
        tree.directory('lznt1')
        tree.attribute('lznt1', 'system.ntfs_attrib_be', kinds.COMPRESSED)
        tree.file('lznt1/text.txt', contents.text(2500))
        tree.file('lznt1/mixed.bin', b'A' * 70000 + contents.noise(22, 30000))
        wim = wof.load()
        if wim is not None:
            data = contents.text(900)
            wof.write_one(tree, 'wof.bin', len(data), wof.compressed_stream(wim, data, 'xpress4k'),
                          struct.pack('<IIII', 1, 2, 1, 0))
    kinds.write_reparse(tree)


def fragment(tree):
    """Two files that grow in turn, so that their extents are many."""
    with open(tree.at('left.bin'), 'wb', buffering=0) as left, \
            open(tree.at('right.bin'), 'wb', buffering=0) as right:
        for i in range(40):
            left.write(contents.noise(100 + i, 4096))
            right.write(contents.noise(300 + i, 4096))


def make(folder, name):
    """The bytes of the disk, and where its volume begins and ends."""
    size, cluster, sector = GEOMETRIES[name]
    volume = os.path.join(folder, name + '.volume')
    ntfs_image.make_volume(volume, size, name.upper(), cluster=cluster, sector=sector,
                           first_sector=FIRST_SECTOR)
    tree = expectation.Tree()
    options = 'streams_interface=windows' + (',compression' if sector == SECTOR else '')
    with ntfs_image.Mounted(volume, options) as tree.root:
        fill(tree, sector == SECTOR)
        fragment(tree)
    with open(volume, 'rb') as stream:
        inside = stream.read()
    os.unlink(volume)
    start = FIRST_SECTOR * SECTOR
    disk = bytearray(SECRET * ((start + len(inside) + MIB) // len(SECRET)))
    disk[:SECTOR] = bytes(SECTOR)
    struct.pack_into('<B3xII', disk, 446 + 4, 7, FIRST_SECTOR, len(inside) // SECTOR)
    disk[510:512] = b'\x55\xaa'
    disk[start:start + len(inside)] = inside
    return bytes(disk), start, start + len(inside)
