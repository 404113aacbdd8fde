# SPDX-License-Identifier: GPL-3.0-or-later
"""--efs raw: ciphertext and keys, in the form that ntfs-3g's efs_raw reads and writes."""
import base64
import os
import struct

import pytest

import contents
import ntfs_image
from comparing import check_counts
from local_storage import DESTINATION
from manifest import Manifest

MIB = 1 << 20
OPTIONS = 'efs_raw,streams_interface=windows'
KEYS = struct.pack('<III', 0x200, 0, 2) + contents.noise(43, 0x200 - 12)
SIZES = (1, 511, 512, 513, 5000, 65536, 3 * MIB + 7, 66 * MIB + 100)


def raw_form(seed, size):
    """Any bytes will do for ciphertext: whole sectors, then how many bytes are too many."""
    cipher = -(-size // 512) * 512
    return contents.noise(seed, cipher) + struct.pack('<H', cipher - size)


def encrypt(root, path, form, keys=KEYS):
    """What a restore does: the form as content, then the keys as the $EFS attribute."""
    name = os.path.join(root, os.fsencode(path))
    with open(name, 'wb') as stream:
        stream.write(form)
    os.setxattr(name, 'user.ntfs.efsinfo', keys)


@pytest.fixture(scope='module')
def encrypted(tmp_path_factory):
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    image = str(tmp_path_factory.mktemp('efs') / 'efs.img')
    ntfs_image.make_volume(image, 160 * MIB, 'EFS')
    forms = {'%d.bin' % size: raw_form(size % 97, size) for size in SIZES}
    with ntfs_image.Mounted(image, OPTIONS) as root:
        with open(os.path.join(root, b'plain.txt'), 'wb') as stream:
            stream.write(b'not encrypted')
        for path, form in forms.items():
            encrypt(root, path, form)
    return image, forms


def test_raw(winch, storage, encrypted):
    """The objects hold what ntfs-3g reads, and say in two places that it is no content."""
    image, forms = encrypted
    result = winch.migrate(storage, image, DESTINATION, '--efs', 'raw', '--part-size', '4M')
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p')
    check_counts(result, manifest)
    assert result.json['failed'] == 0
    assert any('8 encrypted' in warning for warning in result.json['warnings']), result.json
    lines = manifest.by_path()
    with ntfs_image.Mounted(image, OPTIONS + ',ro') as root:
        for path, form in forms.items():
            line = lines[path]
            with open(os.path.join(root, path.encode()), 'rb') as stream:
                assert stream.read() == form, 'ntfs-3g reads %s in another form' % path
            assert bucket.get('p/' + path) == form, path
            assert line['raw'] == 'efs' and line['form'] == 'efs', line
            assert line['content_size'] == int(path[:-4]) and line['size'] == len(form), line
            assert base64.b64decode(line['efs']) == KEYS, line
            assert bucket.list('p/')['p/' + path]['metadata']['winch-form'] == 'efs-raw'
    plain = lines['plain.txt']
    assert 'raw' not in plain and 'content_size' not in plain
    assert 'winch-form' not in bucket.list('p/')['p/plain.txt']['metadata']


def test_restored(winch, new_winch, start_storage, encrypted, tmp_path):
    """Put back on another volume from bucket and manifest alone, it is the same again."""
    image, forms = encrypted
    first, second = start_storage(), start_storage()
    winch.migrate(first, image, DESTINATION, '--efs', 'raw')
    lines = Manifest(first.bucket(), 'p').by_path()
    other = str(tmp_path / 'other.img')
    ntfs_image.make_volume(other, 160 * MIB, 'OTHER')
    with ntfs_image.Mounted(other, OPTIONS) as root:
        for path in forms:
            encrypt(root, path, first.bucket().get('p/' + path),
                    base64.b64decode(lines[path]['efs']))
    new_winch('second').migrate(second, other, DESTINATION, '--efs', 'raw')
    again = Manifest(second.bucket(), 'p').by_path()
    for path in forms:
        for field in ('size', 'crc32c', 'content_size', 'efs', 'form', 'raw'):
            assert lines[path][field] == again[path][field], (path, field)


def test_default(winch, storage, encrypted):
    """Ciphertext is never called content: without the word it fails."""
    image, forms = encrypted
    result = winch.migrate(storage, image, DESTINATION, expect=3)
    assert result.json['reasons'] == {'efs': len(forms)}, result.json
    assert not [name for name in storage.bucket().list('p/') if name.endswith('.bin')]


def test_choice_is_part_of_the_run(winch, storage, encrypted):
    """What failed without it is sent with it, by a run of its own."""
    image, forms = encrypted
    winch.migrate(storage, image, DESTINATION, expect=3)
    result = winch.migrate(storage, image, DESTINATION, '--efs', 'raw')
    assert result.json['resumed'] is False
    assert result.json['already_present'] == 1 and result.json['uploaded'] == len(forms) + 1


def test_not_whole(winch, storage, tmp_path):
    """Without keys, or with an end that was never written, there is nothing that could be read."""
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    image = str(tmp_path / 'torn.img')
    ntfs_image.make_volume(image, 32 * MIB, 'TORN')
    with ntfs_image.Mounted(image, OPTIONS) as root:
        for name in ('short.bin', 'good.bin'):
            encrypt(root, name, raw_form(7, 70000))
    with open(image, 'r+b') as stream:
        disk = bytearray(stream.read())
        record = find_record(disk, 'short.bin')
        data = find_attribute(disk, record, 0x80)
        valid, = struct.unpack_from('<Q', disk, data + 0x38)
        assert valid == 70000
        struct.pack_into('<Q', disk, data + 0x38, 4096)     # less was written than its size
        stream.seek(0)
        stream.write(disk)
    result = winch.migrate(storage, image, DESTINATION, '--efs', 'raw', expect=3)
    assert result.json['reasons'] == {'efs': 1}, result.json
    line = Manifest(storage.bucket(), 'p').by_path()['short.bin']
    assert line['state'] == 'failed' and 'never written' in line['error'], line


def find_record(disk, name):
    """Where the MFT record with that name begins."""
    at = disk.find(b'FILE')
    while at >= 0:
        if name.encode('utf-16le') in disk[at:at + 1024]:
            return at
        at = disk.find(b'FILE', at + 1024)
    raise AssertionError('no record of ' + name)


def find_attribute(disk, record, wanted):
    at = record + struct.unpack_from('<H', disk, record + 20)[0]
    while True:
        kind, length = struct.unpack_from('<II', disk, at)
        if kind == wanted:
            return at
        assert kind != 0xFFFFFFFF and length > 0
        at += length
