# SPDX-License-Identifier: GPL-3.0-or-later
"""Directory indexes as a check: differences are told, and change nothing of what is uploaded."""
import os
import shutil
import struct

import pytest

import contents
import expectation
import ntfs_image
from comparing import Comparison, check_counts
from local_storage import DESTINATION
from manifest import Manifest
from test_images import expected_rows, unpack

MIB = 1 << 20
COUNT = 120


@pytest.fixture(scope='module')
def healthy(tmp_path_factory):
    """A folder whose index needs blocks: (image, rows, record of file_0050.dat)."""
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp('index')
    image = str(folder / 'healthy.img')
    ntfs_image.make_volume(image, 32 * MIB, 'INDEX')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        for number in range(COUNT):
            tree.file('folder/file_%04d.dat' % number, contents.noise(number, 900))
        record = os.stat(tree.at('folder/file_0050.dat')).st_ino
    tree.write(str(folder / 'healthy.tsv'))
    return image, expectation.read(str(folder / 'healthy.tsv')), record


def find_entry(image, record):
    """Where an index block has its entry of that record, and the entry's sequence."""
    with open(image, 'rb') as stream:
        data = stream.read()
    for block in range(0, len(data), 4096):
        if data[block:block + 4] != b'INDX':
            continue
        at = block + 24 + struct.unpack_from('<I', data, block + 24)[0]
        while not struct.unpack_from('<H', data, at + 12)[0] & 2:
            ref = struct.unpack_from('<Q', data, at)[0]
            if ref & 0xFFFFFFFFFFFF == record:
                assert at % 512 + 200 < 510, 'a fix-up stands in it'
                return at, ref >> 48
            at += struct.unpack_from('<H', data, at + 8)[0]
    raise AssertionError('no entry of record %d' % record)


def migrate(winch, storage, image, rows):
    result = winch.migrate(storage, image, DESTINATION)
    manifest = Manifest(storage.bucket(), 'p')
    Comparison(storage.bucket(), manifest, 'p').compare(rows).assert_equal()
    check_counts(result, manifest)
    return [text for text in result.json['warnings'] if 'directory indexes' in text]


def test_nothing_to_tell(winch, storage, healthy):
    assert migrate(winch, storage, healthy[0], healthy[1]) == []


@pytest.mark.parametrize('change', ('name', 'sequence', 'record', 'torn'))
def test_differences(change, winch, storage, healthy, tmp_path):
    source, rows, record = healthy
    image = str(tmp_path / 'changed.img')
    shutil.copyfile(source, image)
    at, sequence = find_entry(image, record)
    missing = '1 names are missing from their directory; the files were found through $MFT: ' \
        '"file_0050.dat" (record %d)' % record
    patches = {
        'name': (at + 16 + 66, b'F', 'record does not carry it'),
        'sequence': (at + 6, struct.pack('<H', sequence + 1), 'record was used again'),
        'record': (at, struct.pack('<I', record + 5000), "record is no file's"),
        'torn': (at // 4096 * 4096 + 1022, b'\xde\xad', None),
    }
    place, data, why = patches[change]
    with open(image, 'r+b') as stream:
        stream.seek(place)
        stream.write(data)
    warnings = migrate(winch, storage, image, rows)
    if change == 'torn':
        assert len(warnings) == 1 and '1 directories have an index that is torn' in warnings[0]
        return
    assert len(warnings) == 2, warnings
    assert '1 stale names' in warnings[0] and why in warnings[0], warnings
    assert missing in warnings[1], warnings


def test_a_file_in_no_index_made_by_windows(winch, storage, shared_images, tmp_path):
    image = unpack(shared_images, 'ntfs3.raw', str(tmp_path))
    warnings = migrate(winch, storage, image, expected_rows(shared_images, 'ntfs3'))
    assert len(warnings) == 1 and '"1.txt" (record 28) in directory 27' in warnings[0], warnings
