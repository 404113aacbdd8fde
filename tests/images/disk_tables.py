# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks whose partition tables are damaged, old, doubled or cut: what docs/disks.md has a warning
for."""
import os
import struct
import zlib

import disk_kinds
import disks
import ntfs_image
from disk_kinds import mbr_entry

MIB = 1 << 20
SECTOR = 512
SIGNATURE = (510, b'\x55\xaa')
# Enough of an NTFS boot sector to be known by.
NTFS = ((0, b'\xeb\x52\x90NTFS    \0\2\x08'), SIGNATURE)


def gpt_disk(path, sectors=32768):
    with open(path, 'wb') as stream:
        stream.truncate(sectors * SECTOR)
    disks.write_table(path, 'label: gpt\nstart=2048, size=8192, type=%s\n'
                            'start=12288, size=8192, type=%s\n' % (disks.DATA, disks.DATA))


def break_header(path, sector):
    """One bit of a GPT header: its checksum is wrong now."""
    with open(path, 'r+b') as stream:
        stream.seek(sector * SECTOR + 20)
        byte = stream.read(1)[0]
        stream.seek(sector * SECTOR + 20)
        stream.write(bytes([byte ^ 1]))


def make_first_gpt(path):
    gpt_disk(path)
    break_header(path, 1)


def make_both_gpts(path):
    gpt_disk(path)
    break_header(path, 1)
    break_header(path, 32767)


def make_hybrid(path):
    gpt_disk(path)
    disk_kinds.patch(path, (446 + 16 + 4, b'\x07'),
                     (446 + 16 + 8, struct.pack('<II', 2048, 8192)))


def make_unprotected(path):
    gpt_disk(path)
    disk_kinds.patch(path, (446, bytes(66)))


def make_overlap(path):
    disk_kinds.magic((446 + 4, b'\x07'), (446 + 8, struct.pack('<II', 2048, 2000)),
                     (462 + 4, b'\x07'), (462 + 8, struct.pack('<II', 3000, 2000)),
                     (510, b'\x55\xaa'))(path)


def make_cut_gpt(path):
    gpt_disk(path)
    os.truncate(path, 16384 * SECTOR)


def make_cut_mbr(path):
    disk_kinds.magic((446 + 4, b'\x07'), (446 + 8, struct.pack('<II', 2048, 10240)),
                     (510, b'\x55\xaa'))(path)


def make_many(path):
    """300 partitions, by our own hand: sfdisk makes 128."""
    sectors, count = 65536, 300
    table = b''.join(
        bytes.fromhex('a2a0d0ebe5b9334487c068b6b72699c7') + struct.pack(
            '<16sQQQ72s', bytes([i % 256] * 16), 2048 + 8 * i, 2048 + 8 * i + 7, 0, b'')
        for i in range(count)).ljust(512 * 128, b'\0')
    with open(path, 'wb') as stream:
        stream.truncate(sectors * SECTOR)
    for at, other, entries in ((1, sectors - 1, 2), (sectors - 1, 1, sectors - 129)):
        header = struct.pack('<8sIIIIQQQQ16sQIII', b'EFI PART', 0x10000, 92, 0, 0, at, other, 2048,
                             sectors - 2048, bytes(range(16)), entries, 512, 128,
                             zlib.crc32(table))
        header = header[:16] + struct.pack('<I', zlib.crc32(header)) + header[20:]
        disk_kinds.patch(path, (at * SECTOR, header), (entries * SECTOR, table))
    disk_kinds.patch(path, (446 + 4, b'\xee'), (446 + 8, struct.pack('<II', 1, sectors - 1)),
                     (510, b'\x55\xaa'))


def make_enlarged(path):
    make_first_gpt(path)
    os.truncate(path, 65536 * SECTOR)


def make_empty_mbr(path):
    gpt_disk(path)
    disk_kinds.patch(path, (446, bytes(64)))


def make_old_volume_gpt(path):
    gpt_disk(path)
    disk_kinds.patch(path, *NTFS)


def make_old_volume_mbr(path):
    disk_kinds.magic(*NTFS, *mbr_entry(0, 7, 2048, 6144))(path)


def make_old_fat_mbr(path):
    disk_kinds.magic((0, disks.fat_boot_sector(8192)), *mbr_entry(0, 7, 2048, 6144))(path)


def make_old_gpt_mbr(path):
    gpt_disk(path)
    disk_kinds.patch(path, (446, bytes(64)), *mbr_entry(0, 7, 2048, 6144))


def make_old_gpt_volume(path):
    """A volume over the whole disk, of which the last sector is not a part."""
    gpt_disk(path)
    volume = path + '.volume'
    ntfs_image.make_volume(volume, 32768 * SECTOR - MIB, 'NEW')
    ntfs_image.copy_sparse(volume, path, 0)
    os.unlink(volume)
    disk_kinds.patch(path, (SECTOR, bytes(SECTOR)))


def make_doubtful_mbr(path):
    disk_kinds.magic(*NTFS, *mbr_entry(0, 7, 2048, 6144), (462, b'text'))(path)


def make_outside(path):
    """Its first entry is moved to sector 34, which is below the first usable one."""
    gpt_disk(path)
    for at, entries in ((1, 2), (32767, 32735)):
        with open(path, 'r+b') as stream:
            stream.seek(entries * SECTOR)
            table = bytearray(stream.read(128 * 128))
            struct.pack_into('<Q', table, 32, 34)
            stream.seek(entries * SECTOR)
            stream.write(table)
            stream.seek(at * SECTOR)
            header = bytearray(stream.read(92))
            struct.pack_into('<I', header, 88, zlib.crc32(table))
            struct.pack_into('<I', header, 16, 0)
            struct.pack_into('<I', header, 16, zlib.crc32(header))
            stream.seek(at * SECTOR)
            stream.write(header)


MAKERS = {
    'first-gpt': (make_first_gpt, 2),
    'both-gpts': (make_both_gpts, 0),
    'hybrid': (make_hybrid, 2),
    'no-protective-mbr': (make_unprotected, 2),
    'overlap': (make_overlap, 2),
    'cut-gpt': (make_cut_gpt, 2),
    'cut-mbr': (make_cut_mbr, 1),
    'many': (make_many, 256),
    'fixed-vhd': (disk_kinds.vhd(2, False), 1),
    'enlarged': (make_enlarged, 2),
    'empty-mbr': (make_empty_mbr, 2),
    'old-volume-gpt': (make_old_volume_gpt, 2),
    'old-volume-mbr': (make_old_volume_mbr, 1),
    'old-fat-mbr': (make_old_fat_mbr, 1),
    'old-gpt-mbr': (make_old_gpt_mbr, 1),
    'old-gpt-volume': (make_old_gpt_volume, 1),
    'doubtful-mbr': (make_doubtful_mbr, 1),
    'hybrid-without-gpt': (disk_kinds.make_hybrid_rest, 2),
    'outside': (make_outside, 2),
    'broken-chain': (disk_kinds.make_broken_chain, 1),
}
