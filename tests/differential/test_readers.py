# SPDX-License-Identifier: GPL-3.0-or-later
"""Each stream of each image as winch uploaded it, beside what readers by others give for it.

A reader that claims a feature must agree. Where one is known to be wrong, features.py says so, and
the test fails when it gets better, too: then that page and docs/ntfs-support.md must change.
"""
import collections
import os

import pytest

import count
import features
import odd_volumes
import test_images
from local_storage import BUCKET
from migrated import Migrated, compare
from readers import FIRST_FREE, READERS, SevenZip, text_of
from results import TABLE, Table, joined

SAMPLE = 60             # streams taken of a volume with thousands of equal ones
# name: how mkimages.py makes it, if not by its own name
OWN = {'kinds': (), 'valid': (), 'efs': (), 'table': (), 'damaged': (), 'mirror': ('state',),
       'dirty': ('state',), 'hibernated': ('state',), 'sector4096': ('geometry',)}
OWN.update(('cluster%d' % size, ('geometry',)) for size in (512, 1024, 2048, 8192, 65536, 131072,
                                                            2097152))


def chosen(keys):
    """Few enough to ask each reader for each: the first, the last, and some between."""
    keys = sorted(keys)
    step = max(1, len(keys) // SAMPLE)
    return sorted({*keys[::step], *keys[-1:]}) if len(keys) > 8 * SAMPLE else keys


def migrated(winch, storage, image, *options):
    winch.migrate(storage, image, 'gs://%s/p' % BUCKET, '--no-default-excludes', *options,
                  expect=None)
    return Migrated(storage.bucket(), 'p')


def group_by_feature(name, found):
    """{feature: [key]} of what the readers are asked for."""
    groups = collections.defaultdict(list)
    for key in chosen(key for key in found.streams if features.is_asked(key)):
        groups[features.of(name, found.streams[key], key[1])].append(key)
    return groups


def check_streams(name, reader, volume, found, groups, table=TABLE):
    """The outcomes of one reader against what is known of it; a list of what is not as known."""
    problems = []
    answers = reader.read(volume, [key for keys in groups.values() for key in keys])
    for feature, keys in groups.items():
        outcomes = collections.Counter(compare(found.streams[key], answers[key]) for key in keys)
        table.add(feature, reader.name, outcomes)
        wanted = features.known(feature, reader.name)
        if joined(outcomes) != wanted:
            problems.append('%s, %s, %s: %s, and known is: %s' % (
                name, feature, reader.name, joined(outcomes), wanted))
            for key in keys:
                stream = found.streams[key]
                if compare(stream, answers[key]) not in wanted.split(' / '):
                    problems.append('    %s %r: winch %s, %s %s' % (
                        stream.path, key, stream.got or stream.reason, reader.name, answers[key]))
    return problems[:20]


def check_walk(name, reader, volume, found):
    """Which entries a reader finds by walking folders; winch finds them in $MFT."""
    entries = {record for record in found.entries if record >= FIRST_FREE}
    reached = reader.reached(volume)
    text = ('cannot list' if reached is None else 'all' if entries <= reached
            else '%d of %d' % (len(entries & reached), len(entries)))
    TABLE.walks.setdefault((name, len(entries)), {})[reader.name] = text
    wanted = features.known_walk(name, reader.name)
    if text != wanted:
        return ['%s: %s finds %s, and known is: %s; lost: %s' % (
            name, reader.name, text, wanted, sorted(entries - (reached or set()))[:10])]
    return []


def check(name, volume, found):
    groups = group_by_feature(name, found)
    for feature, keys in groups.items():
        TABLE.streams[feature] += len(keys)
    problems = []
    for reader in READERS:
        if not reader.absent():
            problems += check_streams(name, reader, volume, found, groups)
            problems += check_walk(name, reader, volume, found)
    assert not problems, '\n'.join(problems)


@pytest.fixture
def storage(start_storage, tmp_path):
    return start_storage('--dir', str(tmp_path / 'bucket'))


@pytest.mark.parametrize('reader', READERS, ids=lambda reader: reader.name)
def test_reader_is_here(reader):
    """Skipped visibly where a reader is not installed; all other tests do without it."""
    if reader.absent():
        pytest.skip(reader.absent())


@pytest.mark.parametrize('name', OWN)
def test_own_image(name, images, winch, storage):
    image = images.get(name, *OWN[name])
    check(name, image, migrated(winch, storage, image))


@pytest.mark.parametrize('name', odd_volumes.MAKERS)
def test_odd_volume(name, odd_volume, winch, storage):
    if name == 'over-4g' and os.environ.get('WINCH_DIFFERENTIAL') != 'long':
        pytest.skip('4 GiB for each reader take a minute: WINCH_DIFFERENTIAL=long')
    image = odd_volume(name)
    check(name, image, migrated(winch, storage, image))


@pytest.mark.parametrize('volume', test_images.VOLUMES)
def test_windows_volume(volume, shared_images, winch, storage, tmp_path):
    row = test_images.volume_table(shared_images)[volume]
    image = test_images.unpack(shared_images, row['image'], str(tmp_path))
    first = int(row['first_sector']) * 512
    options = ['--volume', volume.rsplit('-p', 1)[1]] if first else []
    found = migrated(winch, storage, image, *options)
    length = int(row['sectors']) * 512 if first else None
    with count.as_volume(image, first, length) as path:
        check(volume, path, found)


def test_streams_behind_each_other(images):
    """Why readers.py says -sns-: without it, 7-Zip's standard output is no file's content."""
    reader = SevenZip()
    if reader.absent():
        pytest.skip(reader.absent())
    image = images.get('kinds')
    rows = [row for row in images.rows('kinds') if row.path == b'streams/file.txt']
    _, text = text_of(['7zz', 'x', '-so', '-spd', image, 'streams/file.txt'])
    assert len(rows) == 7 and len(text) == sum(row.size for row in rows)


def test_a_wrong_reader_is_noticed(images, winch, storage):
    """The comparison sees other bytes, zeros, too few, and a reader that got better."""
    image = images.get('valid')
    found = migrated(winch, storage, image)
    key, stream = next((key, stream) for key, stream in found.streams.items()
                       if stream.path == 'valid.bin')
    got = READERS[0].read(image, [key])[key]
    assert compare(stream, got) == 'same'
    other = type(got)(got.size, '0' * 64)
    assert compare(stream, other) == 'wrong'
    assert compare(stream, type(got)(got.size, '0' * 64, True)) == 'wrong (zeros)'
    assert compare(stream, type(got)(got.size - 1, got.sha256)) == 'wrong'
    assert compare(stream, type(got)(refused='no')) == 'refuses'

    class Wrong:
        name = READERS[0].name

        @staticmethod
        def read(_, wanted):
            return {each: other for each in wanted}
    group = {'CompactOS LZX': [key], 'plain': [key]}
    problems = '\n'.join(check_streams('valid', Wrong(), image, found, group, Table()))
    assert 'plain, ntfscat: wrong, and known is: same' in problems, problems
    assert 'CompactOS LZX, ntfscat: wrong, and known is: wrong (zeros)' in problems, problems
