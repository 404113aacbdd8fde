# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk of the demonstration: GPT, reserved partition, Windows-like "Data", recovery.

With root and /dev/fuse the tree has all that NTFS can do. Without, wimlib (Debian: wimtools) writes
a plainer one, so that the demonstration runs everywhere.
"""
import os
import shutil
import tempfile

import contents
import disks
import expectation
import ntfs_image
from kinds import COMPRESSED

MIB = 1 << 20
VIDEO_SIZE = 112 * MIB
FIRST_DATA, FIRST_RECOVERY = 34816, 34816 + 229376 * 2
DATA_SECTORS, RECOVERY_SECTORS = 229376 * 2, 32768
DISK_SIZE = (FIRST_RECOVERY + RECOVERY_SECTORS + 4096) * 512


def make_demo(out):
    disk = os.path.join(out, 'demo.img')
    with open(disk, 'wb') as stream:
        stream.truncate(DISK_SIZE)
    disks.write_table(disk, (
        'label: gpt\nfirst-lba: 34\n'
        'start=34, size=32734, type=%s, name="Microsoft reserved partition"\n'
        'start=%d, size=%d, type=%s, name="Basic data partition"\n'
        'start=%d, size=%d, type=%s, name="Recovery"\n') % (
            disks.RESERVED, FIRST_DATA, DATA_SECTORS, disks.DATA, FIRST_RECOVERY,
            RECOVERY_SECTORS, disks.RECOVERY))
    volume = os.path.join(out, 'demo-part.img')
    ntfs_image.make_volume(volume, DATA_SECTORS * 512, 'Data', first_sector=FIRST_DATA)
    tree = expectation.Tree()
    if ntfs_image.why_no_mount() is None:
        with ntfs_image.Mounted(volume) as tree.root:
            write_ordinary(tree)
            write_special(tree)
    else:
        apply_ordinary(tree, volume)
    disks.put_volume(disk, FIRST_DATA, volume)
    ntfs_image.make_volume(volume, RECOVERY_SECTORS * 512, 'Recovery',
                           first_sector=FIRST_RECOVERY)
    disks.put_volume(disk, FIRST_RECOVERY, volume)
    tree.write(os.path.join(out, 'demo.tsv'))


def write_ordinary(tree):
    """What any file system can hold."""
    for number in range(4):
        tree.file('Users/Anna/Pictures/Summer/IMG_%04d.png' % (2001 + number),
                  contents.photo(number))
    tree.file('Users/Anna/Documents/Letter to the bank.txt', contents.text(60, 'dear bank'))
    tree.file('Users/Anna/Documents/Budget 2026.csv',
              b''.join(b'%d;%d;%d\r\n' % (i, i * 7 % 991, i * 13 % 997) for i in range(5000)))
    tree.file('Users/Anna/Documents/Empty.txt', b'')
    tree.file('Users/Anna/Desktop/desktop.ini', b'[.ShellClassInfo]\r\n')
    tree.blocks('Users/Anna/Videos/Wedding.mp4', contents.noise_blocks(81, VIDEO_SIZE))
    tree.blocks('Backup/accounts.bak', contents.noise_blocks(82, 9 * MIB + 4321))
    tree.file('Users/Öğrenci/Masaüstü/Ödev – taslak №1.txt', 'Merhaba dünya\r\n'.encode())
    tree.file('Users/Public/Documents/#1 [final] + 100% (copy).txt', b'odd but legal')
    tree.file('Program Files/Example/readme.txt', contents.text(200))
    for number in range(300):
        tree.file('Program Files/Example/lib/module%03d.dll' % number,
                  contents.noise(9000 + number, 200 + number * 37))
    tree.directory('Users/Anna/Empty folder')
    tree.hard_link('Program Files/Example/readme.txt', 'Users/Public/Documents/readme.txt')


def write_special(tree):
    """What only NTFS can hold."""
    letter = 'Users/Anna/Documents/Letter to the bank.txt'
    tree.stream(letter, 'Zone.Identifier', b'[ZoneTransfer]\r\nZoneId=3\r\n')
    tree.stream(letter, 'scan.tif', contents.noise(83, 60000))
    tree.directory('Archive')
    tree.attribute('Archive', 'system.ntfs_attrib_be', COMPRESSED)
    tree.file('Archive/log 2019.txt', contents.text(30000))
    tree.directory('VM')
    tree.pieces('VM/thin disk.bin', [(0, b'head'), (20 * MIB, contents.noise(84, 8192))], 32 * MIB)
    tree.directory('Documents and Settings', 'link')
    tree.attribute('Documents and Settings', 'system.ntfs_reparse_data',
                   contents.junction('\\??\\D:\\Users', 'D:\\Users'))
    tree.file(b'Users/Public/tab\there.txt', b'a name that needs an escape')


def apply_ordinary(tree, volume):
    """The ordinary tree in a folder, captured and applied by wimlib: no mount, no root."""
    folder = tempfile.mkdtemp(prefix='winch-demo-')
    try:
        tree.root = os.path.join(os.fsencode(folder), b'tree')
        os.mkdir(tree.root)
        write_ordinary(tree)
        archive = os.path.join(folder, 'tree.wim')
        ntfs_image.run('wimcapture', os.fsdecode(tree.root), archive, '--compress=none')
        ntfs_image.run('wimapply', archive, '1', volume)
    finally:
        shutil.rmtree(folder)
