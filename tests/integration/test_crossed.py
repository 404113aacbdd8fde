# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters that two files claim, or that $Bitmap calls free: exactly those files fail, by name."""
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

MIB = 1 << 20
CLUSTER = 4096
RECORD = 1024
DATA, END = 0x80, 0xFFFFFFFF
BITMAP = 6
NAMES = ('one.bin', 'two.bin', 'three.bin', 'folder/four.bin')


class Image:
    """An image to be damaged: where its records and its $Bitmap lie."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as stream:
            self.table = struct.unpack_from('<Q', stream.read(512), 48)[0] * CLUSTER

    def read(self, offset, count):
        with open(self.path, 'rb') as stream:
            stream.seek(offset)
            return stream.read(count)

    def write(self, offset, data):
        with open(self.path, 'r+b') as stream:
            stream.seek(offset)
            stream.write(data)

    def attribute(self, record, kind, stream=''):
        """(offset in the image, bytes) of an attribute that is not resident."""
        raw = self.read(self.table + record * RECORD, RECORD)
        at = struct.unpack_from('<H', raw, 20)[0]
        while struct.unpack_from('<I', raw, at)[0] != END:
            length = struct.unpack_from('<I', raw, at + 4)[0]
            name = raw[at + struct.unpack_from('<H', raw, at + 10)[0]:][:2 * raw[at + 9]]
            if struct.unpack_from('<I', raw, at)[0] == kind and name == stream.encode('utf-16-le'):
                assert at + length <= 510, 'a fix-up stands in it'
                assert raw[at + 8] == 1, 'resident'
                return self.table + record * RECORD + at, raw[at:at + length]
            at += length
        raise AssertionError('record %d has no attribute %x' % (record, kind))

    def pairs(self, record, stream=''):
        """(offset in the image, bytes) of the mapping pairs of a stream."""
        at, raw = self.attribute(record, DATA, stream)
        start = struct.unpack_from('<H', raw, 32)[0]
        return at + start, raw[start:]

    def first_cluster(self, record, stream=''):
        pairs = self.pairs(record, stream)[1]
        length = pairs[0] & 15
        return int.from_bytes(pairs[1 + length:1 + length + (pairs[0] >> 4)], 'little')

    def move(self, record, cluster, stream=''):
        """The stream's only run begins at another cluster."""
        at, pairs = self.pairs(record, stream)
        count, width = pairs[0] & 15, pairs[0] >> 4
        assert pairs[1 + count + width] == 0, 'more than one run'
        self.write(at + 1 + count, cluster.to_bytes(width, 'little', signed=True))

    def free(self, cluster):
        at = self.first_cluster(BITMAP) * CLUSTER + cluster // 8
        byte = self.read(at, 1)[0]
        assert byte >> cluster % 8 & 1, 'it was free already'
        self.write(at, bytes([byte & ~(1 << cluster % 8)]))


@pytest.fixture(scope='module')
def healthy(tmp_path_factory):
    """Four files of one run each, one with a stream; (path, rows, record by name)."""
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp('crossed')
    image = str(folder / 'healthy.img')
    ntfs_image.make_volume(image, 64 * MIB, 'CROSSED')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        for number, name in enumerate(NAMES):
            tree.file(name, contents.noise(500 + number, 40000))
        tree.stream('two.bin', 'note', contents.noise(510, 9000))
        tree.file('resident.txt', b'small')
        records = {name: os.stat(tree.at(name)).st_ino for name in NAMES}
    tree.write(str(folder / 'healthy.tsv'))
    return image, expectation.read(str(folder / 'healthy.tsv')), records


@pytest.fixture
def damaged(healthy, tmp_path):
    path = str(tmp_path / 'damaged.img')
    shutil.copyfile(healthy[0], path)
    return Image(path)


def check(winch, storage, image, rows, failed, warned):
    """Only `failed` ({name: words of its sentence}) are not sent, and all else is right."""
    exit_code = 3 if failed else 0
    result = winch.migrate(storage, image.path, DESTINATION, expect=exit_code)
    manifest = Manifest(storage.bucket(), 'p')
    wanted = [expectation.Row(row.path, row.stream, row.size, row.sha256, 'cross-linked')
              if row.path.decode() in failed and not row.stream else row for row in rows]
    Comparison(storage.bucket(), manifest, 'p').compare(wanted).assert_equal()
    check_counts(result, manifest)
    assert result.json['reasons'] == ({'cross-linked': len(failed)} if failed else {})
    assert result.json['streams_failed'] == len(failed)
    lines = manifest.by_path()
    for name, words in failed.items():
        line = lines[name]
        assert (line['state'], line['reason']) == ('failed', 'cross-linked'), line
        assert 'generation' not in line and 'name' not in line, line
        assert words in line['error'] and 'chkdsk' in line['error'], line
        assert 'application-consistent' in line['error'], line
        assert 'p/' + name not in storage.bucket().list('p/')
    found = [text for text in result.json['warnings'] if 'cross-linked' in text]
    assert len(found) == len(warned), result.json['warnings']
    for words, text in zip(warned, found):
        assert words in text, text
    system = [line for line in manifest.lines if int(line['record']) < 24
              and int(line['record']) != 5]
    assert {(line['state'], line['reason']) for line in system} == {('excluded', 'system')}
    return result, manifest


def test_healthy(winch, storage, healthy):
    image = Image(healthy[0])
    check(winch, storage, image, healthy[1], {}, ())


def test_two_files_on_the_same_clusters(winch, storage, healthy, damaged):
    _, rows, records = healthy
    shared = damaged.first_cluster(records['one.bin'])
    damaged.move(records['two.bin'], shared)
    said = 'cluster %d of its data is claimed by record %d too'
    _, manifest = check(winch, storage, damaged, rows, {
        'one.bin': said % (shared, records['two.bin']),
        'two.bin': said % (shared, records['one.bin']),
    }, ['10 clusters are claimed more than once and 0 are'])
    assert ('two.bin', 'note') in manifest.stream_lines(), 'the clean stream was not sent'


def test_free_by_bitmap(winch, storage, healthy, damaged):
    _, rows, records = healthy
    cluster = damaged.first_cluster(records['three.bin']) + 3
    damaged.free(cluster)
    check(winch, storage, damaged, rows, {
        'three.bin': 'cluster %d of its data is free, as $Bitmap says' % cluster,
    }, ['0 clusters are claimed more than once and 1 are'])


def test_a_file_on_the_table(winch, storage, healthy, damaged):
    _, rows, records = healthy
    cluster = damaged.table // CLUSTER + 1
    damaged.move(records['folder/four.bin'], cluster)
    check(winch, storage, damaged, rows, {
        'folder/four.bin': 'cluster %d of its data is claimed by record 0 too' % cluster,
    }, ['10 clusters are claimed more than once and 0 are',
        'files of NTFS itself are concerned too (1 times, first record 0, cluster %d)' % cluster])


def test_all_at_once_with_accept(winch, storage, healthy, damaged):
    _, _, records = healthy
    damaged.move(records['two.bin'], damaged.first_cluster(records['one.bin']))
    damaged.free(damaged.first_cluster(records['three.bin']))
    result = winch.migrate(storage, damaged.path, DESTINATION, '--accept', 'cross-linked')
    assert result.json['accepted'] == result.json['failed'] == 3, result.json
    assert result.json['reasons'] == {'cross-linked': 3}
    check_counts(result, Manifest(storage.bucket(), 'p'))


def test_dry_run_says_so(winch, storage, healthy, damaged):
    _, _, records = healthy
    damaged.free(damaged.first_cluster(records['one.bin']))
    result = winch.migrate(storage, damaged.path, DESTINATION, '--dry-run', expect=None)
    assert result.json['reasons'] == {'cross-linked': 1}, result.json


def test_a_cluster_of_bitmap(winch, storage, healthy, damaged):
    """$Bitmap that a file claims too tells nothing; the file fails, nobody else does."""
    _, rows, records = healthy
    damaged.free(damaged.first_cluster(records['one.bin']))
    cluster = damaged.first_cluster(BITMAP)
    damaged.move(records['three.bin'], cluster)
    result, _ = check(winch, storage, damaged, rows, {
        'three.bin': 'cluster %d of its data is claimed by record 6 too' % cluster,
    }, ['clusters are claimed more than once', 'first record 6'])
    assert '$Bitmap cannot be used' in str(result.json['warnings'])
