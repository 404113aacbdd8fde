# SPDX-License-Identifier: GPL-3.0-or-later
"""One file for each kind of thing that `winch disks` names: real ones where a tool makes them, else
the bytes by which they are known."""
import binascii
import os
import struct
import subprocess

import disks
import ntfs_image

MIB = 1 << 20
LDM_DATA = 'AF9B60A0-1431-4F62-BC68-3311714A69AD'
BIOS_BOOT = '21686148-6449-6E6F-744E-656564454649'
STORAGE_SPACES = 'E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D'


def empty(path, size=4 * MIB):
    with open(path, 'wb') as stream:
        stream.truncate(size)


def patch(path, *pieces):
    with open(path, 'r+b') as stream:
        for offset, data in pieces:
            stream.seek(offset, os.SEEK_SET if offset >= 0 else os.SEEK_END)
            stream.write(data)


def magic(*pieces, size=4 * MIB):
    def make(path):
        empty(path, size)
        patch(path, *pieces)
    return make


def formatted(*command, size=4 * MIB):
    def make(path):
        empty(path, size)
        ntfs_image.run(*command, path)
    return make


def table(script, *pieces, size=8 * MIB):
    def make(path):
        empty(path, size)
        disks.write_table(path, script)
        patch(path, *pieces)
    return make


def vhd(disk_type, at_start):
    footer = bytearray(512)
    footer[:8] = b'conectix'
    struct.pack_into('>I', footer, 60, disk_type)
    pieces = [(-512, bytes(footer))]
    return magic(*(pieces + [(0, bytes(footer))] if at_start else pieces))


def converted(name):
    def make(path):
        empty(path + '.raw', MIB)
        ntfs_image.run('qemu-img', 'convert', '-f', 'raw', '-O', name, path + '.raw', path)
        os.unlink(path + '.raw')
    return make


def packed(*command):
    def make(path):
        with open(path, 'wb') as stream:
            subprocess.run(command, input=bytes(100000), stdout=stream, check=True)
    return make


def make_ntfs(path):
    ntfs_image.make_volume(path, 16 * MIB, 'LABEL')


def make_damaged(path):
    make_ntfs(path)
    # Behind the volume's clusters, as in a partition.
    patch(path, (0, bytes(512)))


def make_lvm(path):
    label = bytearray(512)
    label[:8] = b'LABELONE'
    struct.pack_into('<Q', label, 8, 1)
    struct.pack_into('<I', label, 20, 32)
    label[24:32] = b'LVM2 001'
    label[32:64] = b'0123456789abcdefghijklmnopqrstuv'
    crc = ~binascii.crc32(bytes(label[20:]), ~0xf597a6cf & 0xffffffff) & 0xffffffff
    struct.pack_into('<I', label, 16, crc)
    magic((512, bytes(label)))(path)


def make_raid(path):
    block = bytearray(256)
    struct.pack_into('<III', block, 0, 0xa92b4efc, 1, 0)
    block[16:32] = bytes(range(16))
    block[32:37] = b'array'
    struct.pack_into('<Q', block, 144, 8)          # where it stands, in sectors
    total = sum(struct.unpack('<64I', bytes(block)))
    struct.pack_into('<I', block, 216, (total + (total >> 32)) & 0xffffffff)
    magic((4096, bytes(block)))(path)


def make_several(path):
    formatted('mkfs.btrfs', '-q', size=128 * MIB)(path)
    patch(path, (0, b'XFSB'), (1024 + 0x38, b'\x53\xef'), (4086, b'SWAPSPACE2'))


def mbr_entry(index, kind, first, count):
    """Two pieces for patch()."""
    at = 446 + 16 * index
    return ((at + 4, bytes([kind])), (at + 8, struct.pack('<II', first, count)))


def make_broken_chain(path):
    """Nothing stands where the extended partition begins."""
    magic(*mbr_entry(0, 5, 2048, 4096), (510, b'\x55\xaa'))(path)


def make_hybrid_rest(path):
    """Both GPTs are gone, the MBR has one partition more."""
    magic(*mbr_entry(0, 0xee, 1, 2047), *mbr_entry(1, 7, 2048, 4096), (510, b'\x55\xaa'))(path)


def make_suspended(path):
    formatted('mkswap')(path)
    patch(path, (4086, b'S1SUSPEND\0'))


def make_apfs(path):
    block = bytearray(4096)
    block[32:36] = b'NXSB'
    struct.pack_into('<HH', block, 24, 1, 0x8000)
    struct.pack_into('<I', block, 36, 4096)
    magic((0, bytes(block)))(path)


def make_hfsplus(path):
    header = bytearray(512)
    header[:2] = b'H+'
    struct.pack_into('>H', header, 2, 4)
    struct.pack_into('>I', header, 40, 4096)       # bytes of a block
    struct.pack_into('>I', header, 44, 1024)
    magic((1024, bytes(header)))(path)


MAKERS = {
    'ntfs': make_ntfs,
    'ntfs-damaged': make_damaged,
    'bitlocker': magic((3, b'-FVE-FS-'), (510, b'\x55\xaa')),
    'ldm': table('label: gpt\nstart=2048, size=4096, type=%s\n' % LDM_DATA),
    'storage-spaces': table('label: gpt\nstart=2048, size=4096, type=%s\n' % STORAGE_SPACES),
    'reserved': table('label: gpt\nstart=2048, size=4096, type=%s\n' % disks.RESERVED),
    'refs': magic((3, b'ReFS\0\0\0\0')),
    'empty': empty,
    'beyond': magic((446 + 4, b'\x07'), (446 + 8, struct.pack('<II', 100000, 5000)),
                    (510, b'\x55\xaa')),
    'unknown': magic((0, b'no file system')),
    'FAT12': formatted('mkfs.vfat', '-F', '12'),
    'FAT16': formatted('mkfs.vfat', '-F', '16', size=32 * MIB),
    'FAT32': formatted('mkfs.vfat', '-F', '32', size=64 * MIB),
    'exfat': formatted('mkfs.exfat', size=8 * MIB),
    'ext2': formatted('mkfs.ext2', '-q', '-F'),
    'ext3': formatted('mkfs.ext3', '-q', '-F', size=16 * MIB),
    'ext4': formatted('mkfs.ext4', '-q', '-F', size=16 * MIB),
    'xfs': formatted('mkfs.xfs', '-q', size=320 * MIB),
    'btrfs': formatted('mkfs.btrfs', '-q', size=128 * MIB),
    'udf': formatted('mkudffs', '--blocksize=512', size=8 * MIB),
    'iso9660': magic((32768, b'\x01CD001\x01')),
    'hfsplus': make_hfsplus,
    'apfs': make_apfs,
    'swap': formatted('mkswap'),
    'swsuspend': make_suspended,
    'bios-boot': table('label: gpt\nstart=2048, size=4096, type=%s\n' % BIOS_BOOT,
                       (2048 * 512, b'RV\xbe\x1b')),
    'impossible': magic(*mbr_entry(1, 7, 2048, 0), (510, b'\x55\xaa')),
    'lost-chain': make_broken_chain,
    'lost-gpt': make_hybrid_rest,
    'several': make_several,
    'LVM2_member': make_lvm,
    'linux_raid_member': make_raid,
    'crypto_LUKS': magic((0, b'LUKS\xba\xbe\0\1')),
    'isw_raid_member': magic((-1024, b'Intel Raid ISM Cfg Sig. 1.0.00')),
    'raid': magic((MIB, b'\x0d\xd0\x01\xc0')),
    'other': magic((0, b'-rom1fs-')),
    'vhd': vhd(3, True),
    'vhd-differencing': vhd(4, True),
    'vhdx': converted('vhdx'),
    'qcow2': converted('qcow2'),
    'vmdk': converted('vmdk'),
    'vdi': converted('vdi'),
    'ewf': magic((0, b'EVF\x09\x0d\x0a\xff\0')),
    'wim': magic((0, b'MSWIM\0\0\0')),
    'gzip': packed('gzip', '-c'),
    'xz': packed('xz', '-c'),
    'zstd': magic((0, b'\x28\xb5\x2f\xfd')),
    'bzip2': packed('bzip2', '-c'),
    'zip': magic((0, b'PK\3\4')),
    '7z': magic((0, b'7z\xbc\xaf\x27\x1c')),
    'tar': magic((257, b'ustar')),
}
