# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks with partitions, and volumes of every geometry and state."""
import os
import struct
import subprocess

import contents
import expectation
import ntfs_image

MIB = 1 << 20
SECTOR = 512
CLUSTERS = (512, 1024, 2048, 8192, 65536, 131072, 2097152)
DATA = 'EBD0A0A2-B9E5-4433-87C0-68B6B72699C7'
RESERVED = 'E3C9E316-0B5C-4DB8-817D-F92DF00215AE'
RECOVERY = 'DE94BBA4-06D1-4D40-A16A-BFD50179D6AC'


def write_some(tree, seed):
    """A few files of all sizes: enough to meet each way of keeping data."""
    for size in (0, 1, 300, 5000, 70000, 3 * MIB + 17):
        tree.file('files/size%d.bin' % size, contents.noise(seed + size, size))
    tree.pieces('files/hole.bin', [(0, b'begin'), (6 * MIB, b'end')])
    tree.file('notes.txt', contents.text(40))
    tree.stream('notes.txt', 'comment', b'a stream')


def make_filled(image, size, label, seed, **geometry):
    """A volume with some files; returns its tree."""
    ntfs_image.make_volume(image, size, label, **geometry)
    tree = expectation.Tree()
    # Compression is left out: ntfs-3g allows it up to clusters of 4 KiB only.
    with ntfs_image.Mounted(image, 'streams_interface=windows') as tree.root:
        write_some(tree, seed)
    return tree


def make_geometries(out):
    for number, cluster in enumerate(CLUSTERS):
        name = os.path.join(out, 'cluster%d' % cluster)
        make_filled(name + '.img', 512 * MIB if cluster > 65536 else 64 * MIB,
                    'C%d' % cluster, 1000 * number, cluster=cluster).write(name + '.tsv')
    name = os.path.join(out, 'sector4096')
    make_filled(name + '.img', 64 * MIB, 'S4096', 9000, sector=4096).write(name + '.tsv')


def write_table(image, script, loop_sector=None):
    """sfdisk on the file itself, or on a loop device where the sector size is another."""
    target = image
    if loop_sector:
        shown = ntfs_image.run('losetup', '-f', '--show', '-b', loop_sector, image)
        target = shown.decode().strip()
    try:
        subprocess.run([ntfs_image.find_program('sfdisk'), '-q', '--no-reread', target],
                       input=script.encode(), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    except (TypeError, subprocess.CalledProcessError) as error:
        raise ntfs_image.CannotMake('sfdisk cannot write a table to %s: %s'
                                    % (image, error)) from error
    finally:
        if loop_sector:
            ntfs_image.run('losetup', '-d', target)


def put_volume(disk, first_sector, volume, sector=SECTOR):
    ntfs_image.copy_sparse(volume, disk, first_sector * sector)
    os.unlink(volume)


def fat_boot_sector(sectors):
    """Enough of a FAT16 volume for a prober: a boot sector and the heads of its two tables."""
    head = b'\xeb\x3c\x90MSDOS5.0' + struct.pack(
        '<HBHBHHBHHHII', 512, 4, 1, 2, 512, sectors, 0xF8, 64, 63, 255, 0, 0)
    head += struct.pack('<BBBI', 0x80, 0, 0x29, 0x12345678) + b'FATVOLUME  ' + b'FAT16   '
    sector = head.ljust(510, b'\0') + b'\x55\xaa'
    table = b'\xf8\xff\xff\xff'.ljust(64 * 512, b'\0')
    return sector + table + table


def make_mbr_disk(out):
    """Two primary NTFS partitions, an extended one with FAT and a third NTFS inside."""
    disk = os.path.join(out, 'mbr.img')
    with open(disk, 'wb') as stream:
        stream.truncate(200 * MIB)
    first, second, extended = 63, 2048 + 98304, 262144
    write_table(disk, 'label: dos\nunit: sectors\n'
                'start=%d, size=98304, type=7, bootable\nstart=%d, size=98304, type=7\n'
                'start=%d, size=140000, type=5\nstart=%d, size=32768, type=6\n'
                'start=%d, size=65536, type=7\n'
                % (first, second, extended, extended + 2048, extended + 40960))
    for number, start, count in ((1, first, 98304), (2, second, 98304),
                                 (6, extended + 40960, 65536)):
        volume = os.path.join(out, 'mbr-part.img')
        tree = make_filled(volume, count * SECTOR, 'MBR%d' % number, 20000 * number,
                           first_sector=start)
        tree.write(os.path.join(out, 'mbr-p%d.tsv' % number))
        put_volume(disk, start, volume)
    with open(disk, 'r+b') as stream:
        stream.seek((extended + 2048) * SECTOR)
        stream.write(fat_boot_sector(32768))


def make_4k_disk(out):
    """GPT and volume in sectors of 4,096 bytes. Loop devices write such a table."""
    disk = os.path.join(out, 'gpt4k.img')
    with open(disk, 'wb') as stream:
        stream.truncate(100 * MIB)
    write_table(disk, 'label: gpt\nstart=256, size=16384, type=%s\n' % DATA, 4096)
    volume = os.path.join(out, 'gpt4k-part.img')
    tree = make_filled(volume, 16384 * 4096, 'GPT4K', 300000, sector=4096, first_sector=256)
    tree.write(os.path.join(out, 'gpt4k-p1.tsv'))
    put_volume(disk, 256, volume, 4096)


def make_states(out):
    """Dirty, hibernated, and with a $MFTMirr that differs: all are read, and reported."""
    base = os.path.join(out, 'state.img')
    tree = make_filled(base, 48 * MIB, 'STATE', 400000)
    for name in ('dirty', 'hibernated', 'mirror'):
        ntfs_image.copy_sparse(base, os.path.join(out, name + '.img'))
        if name != 'hibernated':
            tree.write(os.path.join(out, name + '.tsv'))
    os.unlink(base)
    ntfs_image.run('ntfsfix', os.path.join(out, 'dirty.img'))
    with ntfs_image.Mounted(os.path.join(out, 'hibernated.img')) as tree.root:
        tree.file('hiberfil.sys', b'hibr' + bytes(8188))
    tree.write(os.path.join(out, 'hibernated.tsv'))
    with open(os.path.join(out, 'mirror.img'), 'r+b') as stream:
        boot = stream.read(512)
        mirror = struct.unpack_from('<Q', boot, 56)[0] * boot[13] * 512
        stream.seek(mirror + 3 * 1024 + 200)
        stream.write(b'Z')
