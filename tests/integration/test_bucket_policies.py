# SPDX-License-Identifier: GPL-3.0-or-later
"""Buckets that keep what is deleted, forbid it, or want to know who pays."""
import json

import pytest

from comparing import Comparison, check_counts
from conftest import MOVE
from local_storage import DESTINATION
from manifest import Manifest

OPTIONS = ('--part-size', '2M', '--progress', 'none')
DAY = '86400'


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


def start_with(start_storage, tmp_path, bucket, *options):
    name = tmp_path / 'bucket.json'
    name.write_text(json.dumps(bucket))
    return start_storage('--bucket-json', str(name), *options)


def check(storage, images, result, strays=False):
    """`strays`: the segments of the journal cannot be deleted either."""
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p', strays=strays)
    Comparison(bucket, manifest, 'p').compare(images.rows('move')).assert_equal()
    check_counts(result, manifest)
    return bucket.list('p/')


def test_soft_delete_bills_no_parts(start_storage, winch, images, image, tmp_path):
    storage = start_with(start_storage, tmp_path,
                         {'softDeletePolicy': {'retentionDurationSeconds': DAY}})
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    stats = storage.stats()
    assert stats['composes'] == 3 and stats['parts_left'] == 0, stats
    # Only a segment of the journal was deleted, not 72 MiB of parts.
    assert stats['soft_deleted_bytes'] < 1 << 20, stats
    assert 'soft delete' in result.err or not result.err, result.err
    check(storage, images, result)


def test_soft_delete_where_composes_delete_nothing(start_storage, winch, images, image, tmp_path):
    storage = start_with(start_storage, tmp_path,
                         {'softDeletePolicy': {'retentionDurationSeconds': DAY}},
                         '--ignore-delete-sources')
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert storage.stats()['parts_left'] == 0
    assert storage.stats()['soft_deleted_bytes'] > 72 << 20
    check(storage, images, result)


@pytest.mark.parametrize('bucket', ({'retentionPolicy': {'retentionPeriod': DAY}},
                                    {'defaultEventBasedHold': True}),
                         ids=('retention', 'hold'))
@pytest.mark.parametrize('rights', ('all', 'create', 'create,get,delete'))
def test_what_cannot_be_deleted(bucket, rights, start_storage, winch, images, image, tmp_path):
    """No parts; nothing is rewritten; a second run meets what is there. A bucket that may not be
    asked for its settings is the worst: parts that stay are told."""
    storage = start_with(start_storage, tmp_path, bucket, '--rights', rights)
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=None)
    stats = storage.stats()
    assert result.json['streams_failed'] == 0, str(result)
    if rights == 'create,get,delete':
        assert result.exit == 3 and stats['parts_left'] > 0, str(result)
        assert 'parts could not be removed' in str(result), str(result)
        return
    assert result.exit == 0 and stats['parts_left'] == 0, (str(result), stats)
    assert stats['composes'] == 0, stats
    if rights == 'all':
        items = check(storage, images, result, strays=True)
        assert 'componentCount' not in items['p/large.bin']


def test_requester_pays(start_storage, winch, images, image, tmp_path):
    storage = start_with(start_storage, tmp_path, {'billing': {'requesterPays': True}})
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=5)
    assert '--billing-project' in result.json['error'], result.json['error']
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--billing-project', 'me')
    assert storage.stats()['by_status'].get('400', 0) < 5
    assert result.json['streams_failed'] == 0
