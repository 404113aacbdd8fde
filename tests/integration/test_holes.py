# SPDX-License-Identifier: GPL-3.0-or-later
"""Holes of large files, and what was never written of them, do not travel part by part."""
import pytest

import expectation
import ntfs_image
from comparing import Comparison, check_counts
from local_storage import DESTINATION
from manifest import Manifest

MIB = 1 << 20
PART = '1M'
# With parts of 1 MiB: 512 parts, 16 groups, and the object.
SIZE = 512 * MIB


@pytest.fixture(scope='module')
def sparse(tmp_path_factory):
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    image = str(tmp_path_factory.mktemp('holes') / 'holes.img')
    ntfs_image.make_volume(image, 128 * MIB, 'HOLES')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        tree.pieces('all', [], SIZE)
        tree.pieces('ends', [(0, b'begin'), (SIZE - 3, b'end')])
        tree.pieces('dots', [(i * 50 * MIB + 12345, b'%d' % i * 5000) for i in range(10)], SIZE)
        tree.pieces('odd', [(170 * MIB + 1, b'x')], 250 * MIB + 77)
    return image, tree.rows


def test_holes_travel_once(winch, storage, sparse):
    image, rows = sparse
    result = winch.migrate(storage, image, DESTINATION, '--part-size', PART)
    manifest = Manifest(storage.bucket(), 'p')
    Comparison(storage.bucket(), manifest, 'p').compare(rows).assert_equal()
    check_counts(result, manifest)
    stats = storage.stats()
    assert result.json['bytes'] > 1700 * MIB
    # Ten parts with data, and one of zeros for each group that has others, at most.
    assert stats['received_bytes'] < 65 * MIB, stats
    assert stats['parts_left'] == 0 and stats['max_inserts_per_object'] == 1, stats


def test_killed_between(start_storage, winch, sparse):
    image, rows = sparse
    storage = start_storage('--latency-ms', '25')
    for inserts in (3, 5, 8):
        running = winch.start(storage, image, DESTINATION, '--part-size', PART, '--connections',
                              '2')
        before = storage.stats()['inserts']
        assert storage.wait_until(lambda s: s['inserts'] >= before + inserts, 60, running.alive)
        assert running.kill()
    result = winch.migrate(storage, image, DESTINATION, '--part-size', PART)
    manifest = Manifest(storage.bucket(), 'p')
    Comparison(storage.bucket(), manifest, 'p').compare(rows).assert_equal()
    check_counts(result, manifest)
    assert result.json['resumed'] is True
    assert storage.stats()['parts_left'] == 0


def test_server_that_takes_no_source_twice(start_storage, winch, sparse):
    """Nobody promises that a compose may name an object twice: refused, all parts are sent."""
    image, rows = sparse
    storage = start_storage('--unique-sources')
    result = winch.migrate(storage, image, DESTINATION, '--part-size', PART)
    manifest = Manifest(storage.bucket(), 'p')
    Comparison(storage.bucket(), manifest, 'p').compare(rows).assert_equal()
    check_counts(result, manifest)
    assert storage.stats()['parts_left'] == 0
