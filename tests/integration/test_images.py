# SPDX-License-Identifier: GPL-3.0-or-later
"""Every volume of the images made by real Windows: exactly the known streams, or a named reason."""
import csv
import glob
import os
import subprocess

import pytest

import conftest
import count
import expectation
from comparing import Comparison, check_counts
from local_storage import BUCKET
from manifest import Manifest

UNPACK = (
    ('.raw.gz', 'gzip -dc "$1" | dd of="$2" bs=1M conv=sparse status=none'),
    ('.xz', 'xz -dc "$1" | dd of="$2" bs=1M conv=sparse status=none'),
    ('.bz2', 'bzip2 -dc "$1" | dd of="$2" bs=1M conv=sparse status=none'),
    ('.tar.gz', 'tar xSf "$1" -C "$(dirname "$2")"'),
    ('.tgz', 'tar xSf "$1" -C "$(dirname "$2")"'),
)
# Tables that list what a volume holds, but no volume of their own to read.
VOLUMES = ('ntfs-2m-p1', 'ntfs-ramslack-p1', 'ntfs-lastaccess-p1', 'ntfs-si-vs-fn-p1',
           'vss_1_vol-p2', 'vss_2_stor-p2', 'vss_2003-p1', 'ntfs3_attrlist', 'ntfs3', 'charlie',
           'util-linux-ntfs', 'testfs1')
# Streams that the expected tables leave out on purpose: none of the volumes has metadata streams.


def volume_table(shared):
    with open(os.path.join(shared, 'expected', 'volumes.tsv'), encoding='utf-8') as stream:
        return {row['volume']: row for row in csv.DictReader(stream, delimiter='\t',
                                                             quoting=csv.QUOTE_NONE)}


def test_all_volumes_are_tried(shared_images):
    with_image = {name for name, row in volume_table(shared_images).items()
                  if not row['image'].startswith('(')}
    assert with_image == set(VOLUMES)


def unpack(shared, image, folder):
    """The image in a temporary folder; the shared one is only read."""
    target = os.path.join(folder, image)
    stem = image.rsplit('.', 1)[0] if image.endswith('.raw') else image
    for ending, command in UNPACK:
        for name in (image + ending, stem + ending):
            found = [path for path in glob.glob(os.path.join(shared, '*', name))]
            if found:
                subprocess.run(['sh', '-c', command, 'sh', found[0], target], check=True)
                assert os.path.exists(target), found
                return target
    raise AssertionError('no packed image for ' + image)


def expected_rows(shared, volume):
    """The rows of VOLUME.tsv; an empty volume has no table."""
    name = os.path.join(shared, 'expected', volume + '.tsv')
    if not os.path.exists(name):
        return []
    rows = []
    with open(name, encoding='utf-8') as stream:
        for line in stream.read().split('\n')[1:]:
            if line:
                path, size, sha256 = line.split('\t')[:3]
                rows.append(make_row(expectation.unescape(path), size, sha256))
    return rows


def make_row(path, size, sha256):
    if path.endswith(b'/'):
        return expectation.Row(path[:-1], b'', 0, '-', 'dir')
    stream = b''
    if b':' in path.rsplit(b'/', 1)[-1]:
        path, stream = path.rsplit(b':', 1)
    if sha256 == '-':
        # A link or a folder's stream without content of its own.
        return expectation.Row(path, stream, 0, sha256, 'link|reparse-unsupported')
    return expectation.Row(path, stream, int(size), sha256, 'data')


@pytest.mark.parametrize('volume', VOLUMES)
def test_volume(volume, shared_images, storage, winch, tmp_path):
    row = volume_table(shared_images)[volume]
    image = unpack(shared_images, row['image'], str(tmp_path))
    before = conftest.file_sha256(image)
    options = ['--no-default-excludes']
    first = int(row['first_sector']) * 512
    if first:
        number = volume.rsplit('-p', 1)[1]
        options += ['--volume', number]
    verdict = 'failed'
    comparison = None
    rows = expected_rows(shared_images, volume)
    try:
        result = winch.migrate(storage, image, 'gs://%s/vol' % BUCKET, *options)
        bucket = storage.bucket()
        manifest = Manifest(bucket, 'vol')
        comparison = Comparison(bucket, manifest, 'vol').compare(rows)
        comparison.assert_equal()
        check_counts(result, manifest)
        length = int(row['sectors']) * 512 if first else None
        counted = count.count_volume(image, first, length)
        # The table counts base records that hold no metadata files; extensions stand beside.
        assert result.json['records_in_use'] == counted.in_use, counted
        assert result.json['extension'] == counted.extension == int(row['extension_records'])
        assert conftest.file_sha256(image) == before, 'the image was changed'
        verdict = 'equal'
    finally:
        conftest.TABLE.append((
            volume, len(rows), comparison.uploaded if comparison else '-',
            comparison.inline if comparison else '-',
            ', '.join('%s %d' % pair for pair in sorted(comparison.reasons.items()))
            if comparison else '', verdict))


def test_sources_are_unchanged(shared_images):
    """The packed images still have the sums that their README states."""
    with open(os.path.join(shared_images, 'README.md'), encoding='utf-8') as stream:
        sums = stream.read().split('## sha256')[1].split('```')[1].strip('\n')
    done = subprocess.run(['sha256sum', '--check', '--quiet'], cwd=shared_images, check=False,
                          input=sums, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
