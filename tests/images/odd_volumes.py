# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes that ntfs-3g does not make by itself: names that it refuses, changed in place, and one
attribute list that leads nowhere. Each is made once into a folder, with a TSV of what it holds."""
import os
import struct

import contents
import expectation
import ntfs_image

MIB = 1 << 20
# placeholder, of the same length in UTF-16 units: what stands there in the end
NAMES = (('slash-A-name', 'slash/\\:name'), ('nul-B-name', 'nul\0a\0name'), ('doC', '...'),
         ('dots-D', 'dots. '), ('colonE', 'co:lon'), ('backF', 'ba\\ck'),
         ('pathGGGGG', '../../etc'), ('halfH', 'hig\ud800x'), ('halfJ', 'lo\udc00wx'),
         ('swapK', 's\udc00\ud800pp'), ('escL', 'e\x1b[m'), ('dW', '..'))
BORDER = 1 << 32


def replace_names(image, pairs):
    """Change names in records and indexes alike, wherever they stand in one piece."""
    with open(image, 'r+b') as stream:
        data = bytearray(stream.read())
        for old, new in pairs:
            old, new = contents.utf16(old), new.encode('utf-16le', 'surrogatepass')
            assert len(old) == len(new), (old, new)
            count, at = 0, data.find(old)
            while at >= 0:
                # The last two bytes of a sector stand elsewhere: a name across them is no match.
                data[at:at + len(new)] = new
                count += 1
                at = data.find(old, at + len(new))
            assert count >= 2, 'name %r stands %d times' % (old, count)
        stream.seek(0)
        stream.write(data)


def make_names(image):
    """Names with / : \\ and U+0000, of the POSIX name space, and halves of surrogate pairs."""
    ntfs_image.make_volume(image, 16 * MIB, 'ODDNAMES')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        for number, (old, _) in enumerate(NAMES):
            tree.file(old, b'odd name %d' % number * 50)
        tree.file('ordinary.txt', b'an ordinary name')
    replace_names(image, NAMES)
    return tree


def make_bad_list(image):
    """The attribute list of one file leads to a record that is not there."""
    ntfs_image.make_volume(image, 48 * MIB, 'BADLIST')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        tree.file('before.bin', contents.noise(81, 50000))
        tree.pieces('broken.bin', [(i * 131072, b'%08d' % i * 512) for i in range(400)])
        tree.file('after.bin', contents.noise(82, 50000))
        tree.stream('after.bin', 'note', contents.noise(83, 6000))
        record = os.stat(tree.at('broken.bin')).st_ino
    with open(image, 'r+b') as stream:
        data = stream.read()
        place = struct.unpack_from('<Q', data, 48)[0] * 4096 + record * 1024
        lead = struct.unpack_from('<H', data, place + 20)[0] + place
        while struct.unpack_from('<I', data, lead)[0] != 0x20:
            lead += struct.unpack_from('<I', data, lead + 4)[0]
        if data[lead + 8]:
            runs = lead + struct.unpack_from('<H', data, lead + 32)[0]
            width, step = data[runs] & 15, data[runs] >> 4
            listed = int.from_bytes(data[runs + 1 + width:runs + 1 + width + step], 'little') * 4096
        else:
            listed = lead + struct.unpack_from('<H', data, lead + 20)[0]
        # Each entry names a record at +16; those of $DATA are the last.
        while struct.unpack_from('<I', data, listed)[0] != 0x80:
            listed += struct.unpack_from('<H', data, listed + 4)[0]
        os.pwrite(stream.fileno(), struct.pack('<IH', 0x00FFFFF0, 0), listed + 16)
    row = next(row for row in tree.rows if row.path == b'broken.bin')
    row.want = 'bad-record'
    return tree


def make_over_4g(image):
    """Data on both sides of 4 GiB, and a hole up to there; the table does not list it."""
    ntfs_image.make_volume(image, 64 * MIB, 'OVER4G')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        with open(tree.at('large.bin'), 'wb') as stream:
            for offset in (0, BORDER - 5000, BORDER + 3 * MIB):
                stream.seek(offset)
                stream.write(contents.noise(offset, 10000))
    return tree


MAKERS = {'odd-names': make_names, 'bad-list': make_bad_list,
          'over-4g': make_over_4g}


def get(folder, name):
    """The path of an image in a folder; made there if it is not yet."""
    image = os.path.join(folder, name + '.img')
    if not os.path.exists(image):
        # Under another name until it is whole.
        MAKERS[name](image + '.new').write(os.path.join(folder, name + '.tsv'))
        os.rename(image + '.new', image)
    return image
