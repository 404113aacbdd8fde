# SPDX-License-Identifier: GPL-3.0-or-later
"""Values beside the content that are damaged: their file fails and says so, nothing else does."""
import os
import struct

import pytest

import contents
import ntfs_image
from comparing import check_counts
from local_storage import DESTINATION
from manifest import Manifest
from test_encrypted import find_attribute, find_record

MIB = 1 << 20
EA, REPARSE, OBJECT_ID = 0xE0, 0xC0, 0x40
SYMLINK = struct.pack('<IHH', 0xA000000C, 0, 0)


def write(root, name, data=b'content'):
    path = os.path.join(root, os.fsencode(name))
    with open(path, 'wb') as stream:
        stream.write(data)
    return path


@pytest.fixture
def image(tmp_path):
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    path = str(tmp_path / 'values.img')
    ntfs_image.make_volume(path, 32 * MIB, 'VALUES')
    attributes = contents.extended_attributes([(b'ONE', b'1'), (b'TWO', b'22'), (b'THREE', b'')])
    with ntfs_image.Mounted(path) as root:
        for name in ('good', 'loops', 'behind', 'empty-entry'):
            os.setxattr(write(root, 'ea-' + name), 'system.ntfs_ea', attributes)
        os.mkdir(os.path.join(root, b'ea-folder'))
        os.setxattr(os.path.join(root, b'ea-folder'), 'system.ntfs_ea', attributes)
        data = struct.pack('<IHH', 0x80000123, 12, 0) + b'twelve bytes'
        for name in ('good', 'longer', 'shorter'):
            os.setxattr(write(root, 'rp-' + name, contents.noise(1, 5000)),
                        'system.ntfs_reparse_data', data)
        os.setxattr(write(root, 'id-short'), 'system.ntfs_object_id', bytes(range(16)))
    return path


def patch(path, name, kind, change):
    """Change the resident value of an attribute: change(disk, value offset, header offset)."""
    with open(path, 'r+b') as stream:
        disk = bytearray(stream.read())
        at = find_attribute(disk, find_record(disk, name), kind)
        assert disk[at + 8] == 0, 'not resident'
        change(disk, at + struct.unpack_from('<H', disk, at + 20)[0], at)
        stream.seek(0)
        stream.write(disk)


def put(form, offset, value):
    return lambda disk, at, header: struct.pack_into(form, disk, at + offset, value)


DAMAGE = {
    'ea-loops': (EA, put('<I', 0, 4), 'extended attributes'),
    'ea-behind': (EA, put('<I', 0, 0x10000), 'extended attributes'),
    'ea-empty-entry': (EA, put('<I', 0, 0), 'extended attributes'),
    'ea-folder': (EA, put('<H', 6, 0xFFFF), 'extended attributes'),
    'rp-longer': (REPARSE, put('<H', 4, 11), 'reparse data'),
    'rp-shorter': (REPARSE, put('<H', 4, 13), 'reparse data'),
    'id-short': (OBJECT_ID, lambda disk, at, header: struct.pack_into('<I', disk, header + 16, 8),
                 'object id'),
}


def test_each_fails_alone(winch, storage, image):
    for name, (kind, change, _) in DAMAGE.items():
        patch(image, name, kind, change)
    result = winch.migrate(storage, image, DESTINATION, expect=3)
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p')
    check_counts(result, manifest)
    assert result.json['reasons'] == {'bad-record': len(DAMAGE)}, result.json
    lines = manifest.by_path()
    for name, (kind, _, says) in DAMAGE.items():
        line = lines[name]
        assert (line['state'], line['reason']) == ('failed', 'bad-record'), line
        assert says in line['error'], line
        # The content is there all the same, where it can be told from what it is not.
        sent = 'p/' + name in bucket.list('p/')
        assert sent == (kind != REPARSE and name != 'ea-folder'), (name, sent)
        assert not {'ea', 'object_id', 'reparse'} & set(line), line
    for name in ('ea-good', 'rp-good'):
        assert lines[name]['state'] == 'uploaded', lines[name]
    assert lines['ea-good']['ea'] and lines['rp-good']['reparse']
