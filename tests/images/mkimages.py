#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the images that the suites need, each with a TSV of what it holds.

Usage: mkimages.py OUTDIR [NAME...]            names: see MAKERS; none: all of the suite
       mkimages.py OUTDIR many COUNT SIZE      many.img with COUNT files of SIZE bytes
       mkimages.py OUTDIR big SIZE             big.img with one file of SIZE bytes
       mkimages.py OUTDIR move COUNT SIZE      move.img with both: what the kill tests move
       mkimages.py OUTDIR mixed COUNT LARGE    mixed-COUNT.img with LARGE large ones among them
Needs root, /dev/fuse and ntfs-3g; says what is missing and exits 77 otherwise.
"""
import os
import sys

import contents
import dedup_files
import demo_disk
import disks
import expectation
import kinds
import ntfs_image

MIB = 1 << 20
LARGE = 65 * MIB    # beyond what travels in one request
NOT_HERE = 77


def make_many(out, count, size):
    """Small files in folders of 500; the names of the data files tell nothing about their size."""
    image = os.path.join(out, 'many.img')
    ntfs_image.make_volume(image, 64 * MIB + count * (size + 4096 + 1536), 'MANY')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        write_many(tree, count, size)
    tree.write(os.path.join(out, 'many.tsv'))


def write_many(tree, count, size):
    base = contents.noise(61, size)
    for number in range(count):
        head = b'%012d' % number
        tree.file('d%03d/file%06d.dat' % (number // 500, number), (head + base)[:size])


def make_big(out, size):
    image = os.path.join(out, 'big.img')
    ntfs_image.make_volume(image, size + size // 50 + 64 * MIB, 'BIG')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        tree.blocks('big.bin', contents.noise_blocks(62, size))
    tree.write(os.path.join(out, 'big.tsv'))


def make_move(out, count, size):
    """One large file, files of middle size, many small ones, streams: work for all three ways."""
    image = os.path.join(out, 'move.img')
    ntfs_image.make_volume(image, size + count * 16384 + 128 * MIB, 'MOVE')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        write_many(tree, count // 2, 3000)
        tree.blocks('large.bin', contents.noise_blocks(63, size))
        for number in range(12):
            tree.blocks('middle/%02d.bin' % number, contents.noise_blocks(70 + number, 3 * MIB + 1))
        for number in range(count // 2):
            tree.file('later/file%06d.dat' % number, contents.noise(number + 100, 700))
        tree.file('with-streams.txt', b'main')
        tree.stream('with-streams.txt', 'small', b'inline')
        tree.stream('with-streams.txt', 'large', contents.noise(64, 50000))
    tree.write(os.path.join(out, 'move.tsv'))


def make_mixed(out, count, large):
    """Small files of all sizes up to 8 KiB, and large ones that travel in parts."""
    image = os.path.join(out, 'mixed-%d.img' % count)
    ntfs_image.make_volume(image, count * 12288 + large * (LARGE + MIB) + 64 * MIB, 'MIXED')
    tree = expectation.Tree()
    base = contents.noise(65, 8192)
    with ntfs_image.Mounted(image) as tree.root:
        for number in range(count):
            head = b'%012d' % number
            tree.file('d%03d/file%06d.dat' % (number // 500, number),
                      (head + base)[:number * 37 % 8192])
        for number in range(large):
            tree.blocks('large/%02d.bin' % number,
                        contents.noise_blocks(100 + number, LARGE + number * 4099))
    tree.write(os.path.join(out, 'mixed-%d.tsv' % count))


MAKERS = {
    'demo': demo_disk.make_demo,
    'kinds': kinds.make_kinds,
    'valid': kinds.make_valid_length,
    'efs': kinds.make_encrypted,
    'table': kinds.make_fragmented_table,
    'damaged': kinds.make_damaged,
    'dedup': dedup_files.make_dedup,
    'dedup-damaged': dedup_files.make_dedup_damaged,
    'dedup-large': dedup_files.make_dedup_large,
    'geometry': disks.make_geometries,
    'mbr': disks.make_mbr_disk,
    'sector4k': disks.make_4k_disk,
    'state': disks.make_states,
}
SIZED = {
    'many': (make_many, 2),
    'big': (make_big, 1),
    'move': (make_move, 2),
    'mixed': (make_mixed, 2),
}


def main(arguments):
    if not arguments or arguments[0].startswith('-'):
        sys.exit(__doc__)
    out, names = arguments[0], arguments[1:]
    missing = ntfs_image.why_no_mount()
    if missing and names != ['demo']:
        print('mkimages: ' + missing, file=sys.stderr)
        return NOT_HERE
    os.makedirs(out, exist_ok=True)
    if names and names[0] in SIZED:
        maker, count = SIZED[names[0]]
        if len(names) != count + 1:
            sys.exit(__doc__)
        maker(out, *map(int, names[1:]))
        return 0
    for name in names or MAKERS:
        if name not in MAKERS:
            sys.exit('mkimages: no image is named %s; there are %s' % (name, ', '.join(MAKERS)))
        MAKERS[name](out)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except ntfs_image.CannotMake as error:
        sys.exit('mkimages: %s' % error)
