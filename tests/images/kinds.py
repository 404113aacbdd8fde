# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of content a volume can hold, on one volume each where one needs its own."""
import os
import struct

import contents
import expectation
import ntfs_image
import wof

MIB = 1 << 20
COMPRESSED = bytes.fromhex('00000800')   # FILE_ATTRIBUTE_COMPRESSED, big-endian as ntfs-3g wants it
ODD_NAMES = (
    b'trailing dot.', b'trailing space ', b'CON', b'back\\slash', b'q?*<>|"', b'Case', b'case',
    b'new\nline', b'carriage\rreturn', b'lone\xed\xa0\x80surrogate', b'emoji\xf0\x9f\x98\x80',
    b'nfd-e\xcc\x81', b'nfc-\xc3\xa9', b'L' * 255, b'hash#1', b'[brackets]*', b'percent%u0041',
    b'percent%20', b'plus+and&', b'\xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82.txt',
    b'delete\x7f', b'.winch-not-ours', b'.Winch', b'noncharacter\xef\xbf\xbe', b'a' * 200 + b'.txt',
    b'quote\'s', b'semi;colon', b'bidi\xe2\x80\xaetxt.exe')


def make_kinds(out):
    """Contents and names that one ordinary volume can hold."""
    image = os.path.join(out, 'kinds.img')
    ntfs_image.make_volume(image, 192 * MIB, 'KINDS')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        write_plain(tree)
        write_compressed(tree)
        write_fragments(tree)
        write_names(tree)
        write_reparse(tree)
        wof.write_files(tree, 'wof')
        wof.write_damaged_files(tree, 'wof-damaged')
    tree.write(os.path.join(out, 'kinds.tsv'))


def write_plain(tree):
    for size in (0, 1, 100, 600, 700, 4095, 4096, 4097, 65536, 1 << 20, (1 << 20) + 1):
        tree.file('plain/size-%d.bin' % size, contents.noise(size + 1, size))
    tree.blocks('plain/over-one-mib.bin', contents.noise_blocks(11, 5 * MIB + 123))
    tree.blocks('plain/large.bin', contents.noise_blocks(12, 65 * MIB + 7))
    tree.directory('sparse')
    tree.pieces('sparse/middle.bin', [(5000000, b'x')], 10 * MIB)
    tree.pieces('sparse/empty.bin', [], 3 * MIB)
    tree.pieces('sparse/many.bin', [(i * 131072, b'%08d' % i * 512) for i in range(20)])
    tree.file('streams/file.txt', b'main')
    tree.stream('streams/file.txt', 'secret', b'hidden stream')
    tree.stream('streams/file.txt', 'Zone.Identifier', b'[ZoneTransfer]\r\nZoneId=3\r\n')
    tree.stream('streams/file.txt', 'large', contents.noise(13, 100000))
    tree.stream('streams/file.txt', 'at-the-limit', contents.noise(14, 4096))
    tree.stream('streams/file.txt', 'over-the-limit', contents.noise(15, 4097))
    tree.stream('streams/file.txt', 'empty', b'')
    tree.stream('streams', 'on-a-folder', b'stream of a folder')
    tree.file('streams/many.txt', b'x')
    for i in range(200):
        tree.stream('streams/many.txt', 'stream%03d' % i, b'data %d' % i * (i + 1))
    tree.file('ea.txt', b'with extended attributes')
    tree.attribute('ea.txt', 'system.ntfs_ea', contents.extended_attributes(
        [(b'WINCH.TEST', b'hello'), (b'$LXMOD', struct.pack('<I', 0o100644))]))
    tree.attribute('ea.txt', 'system.ntfs_object_id', bytes(range(16)))
    tree.file('hidden.sys', b'hidden and system')
    tree.attribute('hidden.sys', 'system.ntfs_attrib_be', bytes.fromhex('00000026'))
    tree.file('System Volume Information/tracking.log', contents.noise(16, 20480))
    tree.file('pagefile.sys', contents.noise(17, 8192))


def write_compressed(tree):
    tree.directory('lznt1')
    tree.attribute('lznt1', 'system.ntfs_attrib_be', COMPRESSED)
    tree.file('lznt1/text.txt', contents.text(20000))
    tree.file('lznt1/noise.bin', contents.noise(21, 200000))
    tree.file('lznt1/mixed.bin', b'A' * 70000 + contents.noise(22, 70000) + bytes(200000)
              + b'B' * 3000)
    tree.file('lznt1/tiny.txt', b'resident with the compressed flag')
    tree.file('lznt1/zeros.bin', bytes(300000))


def write_fragments(tree):
    tree.directory('fragments')
    with open(tree.at('fragments/left.bin'), 'wb', buffering=0) as left, \
            open(tree.at('fragments/right.bin'), 'wb', buffering=0) as right:
        written = {'left': b'', 'right': b''}
        for i in range(40):
            for name, stream in (('left', left), ('right', right)):
                block = contents.noise(3000 + i * 2 + (name == 'right'), 8192)
                stream.write(block)
                written[name] += block
                os.fsync(stream.fileno())
    for name, data in written.items():
        tree.record('fragments/%s.bin' % name, '', data, 'data')
    tree.pieces('fragments/list.bin', [(i * 131072, b'%08d' % i * 512) for i in range(1500)])


def write_names(tree):
    tree.directory('names')
    for number, name in enumerate(ODD_NAMES):
        tree.file(b'names/' + name, b'content %d' % number)
    tree.file('.winch/first-component.txt', b'not ours')
    tree.file('.well-known/acme-challenge/token', b'not a challenge')
    tree.file('names/long file name.txt', b'has a short name')
    tree.attribute('names/long file name.txt', 'system.ntfs_dos_name', b'LONGFI~1.TXT')
    tree.file('links/first.txt', b'hard linked')
    for number in range(60):
        tree.hard_link('links/first.txt', 'links/another name of the same file, number %d' % number)
    deep = 'deep'
    for number in range(1, 9):
        deep += '/%02d%s' % (number, 'q' * 150)
        tree.directory(deep)
        if number >= 6:
            # Deeper paths pass the 4,096 bytes that the mount point leaves to one call.
            tree.file(deep + '/leaf.txt', b'at depth %d' % number)


def write_reparse(tree):
    noise = contents.noise(31, 60)
    holes = (('dedup.bin', 0x80000013, bytes(0x74), b'', 'dedup'),
             ('cloud.docx', 0x9000601A, noise, b'', 'cloud-placeholder'),
             ('sis.bin', 0x80000007, bytes(0x40), b'', 'reparse-unsupported'),
             ('hsm.bin', 0xC0000004, bytes(16), b'', 'reparse-unsupported'),
             ('third-party.bin', 0xBAD, b'payload!', noise[:16], 'reparse-unsupported'))
    for name, tag, data, guid, want in holes:
        path = 'reparse/' + name
        tree.directory('reparse')
        with open(tree.at(path), 'wb') as stream:
            stream.truncate(50000)
        tree.attribute(path, 'system.ntfs_reparse_data', contents.reparse(tag, data, guid))
        tree.record(path, '', bytes(50000), want)
    app = struct.pack('<I', 3) + contents.utf16('package\0id\0C:\\x.exe\0' + '0\0')
    without_data = (
        ('relative.txt', contents.symlink('target.txt', 'target.txt', True), 'link'),
        ('absolute.txt', contents.symlink('\\??\\W:\\t.txt', 'W:\\t.txt', False), 'link'),
        ('linux', contents.reparse(0xA000001D, struct.pack('<I', 2) + b'/etc/passwd'), 'link'),
        ('app.exe', contents.reparse(0x8000001B, app), 'reparse-unsupported'),
        ('container.txt', contents.reparse(0x80000018, bytes(32)), 'reparse-unsupported'))
    for name, value, want in without_data:
        tree.file('reparse/' + name, b'', want)
        if name == 'relative.txt':
            tree.stream('reparse/' + name, 'note', b'a stream on a link')
        tree.attribute('reparse/' + name, 'system.ntfs_reparse_data', value)
    tree.file('reparse/target.txt', b'target')
    tree.file('reparse/local.docx', b'all of it stands here')
    tree.attribute('reparse/local.docx', 'system.ntfs_reparse_data',
                   contents.reparse(0x9000701A, noise))
    folders = (('folder-link', contents.symlink('streams', 'streams', True), 'link'),
               ('junction', contents.junction('\\??\\W:\\plain', 'W:\\plain'), 'link'),
               ('loop', contents.junction('\\??\\W:\\', 'W:\\'), 'link'),
               ('mount-point', contents.junction(
                   '\\??\\Volume{c8cbd78b-c7e6-11e6-a9b0-806e6f6e6963}\\', ''), 'link'),
               ('OneDrive', contents.reparse(0x9000701A, noise), 'dir'))
    for name, value, want in folders:
        tree.directory('reparse/' + name, want)
        if want == 'dir':
            tree.file('reparse/%s/inside.txt' % name, b'inside a cloud folder')
        tree.attribute('reparse/' + name, 'system.ntfs_reparse_data', value)


def make_valid_length(out):
    """Valid length below the size; the clusters behind it hold what somebody else deleted."""
    image = os.path.join(out, 'valid.img')
    ntfs_image.make_volume(image, 64 * MIB, 'VALID')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        with open(tree.at('garbage'), 'wb') as stream:
            for _ in range(48):
                stream.write(b'\xa5' * MIB)
        os.unlink(tree.at('garbage'))
        head = contents.noise(41, 20000)
        for name in ('valid.bin', 'small.bin'):
            with open(tree.at(name), 'wb') as stream:
                stream.write(head)
    for name, size in (('valid.bin', 8 * MIB), ('small.bin', 200000)):
        ntfs_image.run('ntfsfallocate', '-l', size, image, name)
        tree.record(name, '', head + bytes(size - len(head)), 'data')
    tree.write(os.path.join(out, 'valid.tsv'))


def make_encrypted(out):
    """An EFS file: readable only with a key that nobody here has."""
    image = os.path.join(out, 'efs.img')
    ntfs_image.make_volume(image, 32 * MIB, 'EFS')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image, 'efs_raw,streams_interface=windows') as tree.root:
        tree.file('plain.txt', b'not encrypted')
        tree.file('secret.bin', contents.noise(42, 5120) + b'\0\0', 'efs')
        tree.attribute('secret.bin', 'user.ntfs.efsinfo',
                       struct.pack('<III', 0x200, 0, 2) + contents.noise(43, 0x200 - 12))
    tree.write(os.path.join(out, 'efs.tsv'))


def make_fragmented_table(out):
    """A $MFT in so many pieces that it needs an attribute list of its own."""
    image = os.path.join(out, 'table.img')
    ntfs_image.make_volume(image, 24 * MIB, 'TABLE', options=('-z', '1'))
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        names = []
        try:
            while True:
                name = 'fill%05d' % len(names)
                with open(tree.at(name), 'wb', buffering=0) as stream:
                    if stream.write(b'x' * 16384) != 16384:
                        break
                names.append(name)
        except OSError:
            pass
        # The one that did not fit may stand there cut short.
        if name not in names and os.path.exists(tree.at(name)):
            os.unlink(tree.at(name))
        for number, name in enumerate(names):
            if number % 3 == 0:
                os.unlink(tree.at(name))
            else:
                tree.record(name, '', b'x' * 16384, 'data')
        for number in range(5000):
            try:
                tree.file('small/%06d' % number, b'resident %d' % number)
            except OSError:
                if os.path.exists(tree.at('small/%06d' % number)):
                    os.unlink(tree.at('small/%06d' % number))
                break
    tree.write(os.path.join(out, 'table.tsv'))


def make_damaged(out):
    """A torn record, and a torn index block: one file is lost by name, all others are there."""
    image = os.path.join(out, 'damaged.img')
    ntfs_image.make_volume(image, 64 * MIB, 'DAMAGED')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        for number in range(600):
            tree.file('folder/file_%04d.dat' % number, b'number %d' % number)
        tree.file('torn.txt', b'this record gets torn', 'bad-record')
        torn = os.stat(tree.at('torn.txt')).st_ino
    with open(image, 'r+b') as stream:
        data = stream.read()
        table = struct.unpack_from('<Q', data, 48)[0] * 4096
        # The last two bytes of a sector hold its fix-up: another value there means a torn write.
        os.pwrite(stream.fileno(), b'\xde\xad', table + torn * 1024 + 1022)
        blocks = [at for at in range(0, len(data), 4096) if data[at:at + 4] == b'INDX']
        os.pwrite(stream.fileno(), b'\xde\xad', blocks[len(blocks) // 2] + 510)
    tree.write(os.path.join(out, 'damaged.tsv'))
