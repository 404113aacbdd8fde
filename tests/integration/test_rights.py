# SPDX-License-Identifier: GPL-3.0-or-later
"""The same migration under each set of rights: what is missing narrows, and is said."""
import json

import pytest

from comparing import Comparison, check_counts
from conftest import MOVE
from local_storage import DESTINATION
from manifest import Manifest

OPTIONS = ('--part-size', '2M', '--connections', '8')
FULL = 'create,get,delete,list,buckets.get'


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


@pytest.fixture
def bucket_folder(tmp_path):
    """The bucket lives in a folder, so that the test itself can read it with all rights."""
    return str(tmp_path / 'bucket')


def with_rights(start_storage, folder, rights, *options):
    return start_storage('--dir', folder, '--rights', rights, *options)


def read_back(start_storage, storage, folder, images, result, strays=False):
    """Compare everything, through a second server on the same folder."""
    storage.stop()
    full = start_storage('--dir', folder)
    bucket = full.bucket()
    manifest = Manifest(bucket, 'p', result.json['run'], strays)
    Comparison(bucket, manifest, 'p').compare(images.rows('move')).assert_equal()
    check_counts(result, manifest)
    assert full.stats()['parts_left'] == 0
    return manifest


@pytest.mark.parametrize('rights,composites', (
    ('create', False),
    ('create,get', False),
    ('create,list', False),
    ('create,get,list', False),
    ('create,get,delete', None),
    (FULL, True),
))
def test_fresh_bucket(rights, composites, start_storage, winch, images, image, bucket_folder):
    """Into an empty bucket every set with create gets everything there."""
    storage = with_rights(start_storage, bucket_folder, rights)
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    stats = storage.stats()
    if composites is not None:
        assert bool(stats['composes']) == composites, stats
    if 'delete' not in rights:
        assert stats['deletes'] == 0, stats
    read_back(start_storage, storage, bucket_folder, images, result)


def test_create_only_again(start_storage, winch, images, image, bucket_folder):
    """Without get nobody can say what is there: present-unverified, exit 3, nothing replaced."""
    storage = with_rights(start_storage, bucket_folder, 'create')
    first = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    second = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=3)
    assert set(second.json['reasons']) == {'present-unverified'}, second.json
    assert second.json['streams_failed'] == first.json['streams_uploaded'] or (
        second.json['failed'] >= first.json['uploaded'] - 1), second.json
    assert storage.stats()['max_inserts_per_object'] == 1
    accepted = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--accept',
                             'present-unverified')
    assert accepted.json['failed'] == accepted.json['accepted'] > 0, accepted.json


def test_create_get_again(start_storage, winch, images, image, bucket_folder):
    """With get the same objects are proven by looking at them."""
    storage = with_rights(start_storage, bucket_folder, 'create,get')
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    second = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    # One small stream stands in the manifest, and is no object.
    assert second.json['already_present'] == second.json['streams_uploaded'] - 1, second.json
    assert storage.stats()['max_inserts_per_object'] == 1
    read_back(start_storage, storage, bucket_folder, images, second)


@pytest.mark.parametrize('rights,expect', (('create,get,delete', 0), ('create,get', 3)))
def test_replace(rights, expect, start_storage, winch, images, image, bucket_folder):
    """Replacing needs delete."""
    full = start_storage('--dir', bucket_folder)
    full.bucket().put('p/middle/05.bin', b'old')
    full.stop()
    storage = with_rights(start_storage, bucket_folder, rights)
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--if-exists', 'replace',
                           expect=None)
    assert result.exit in ((0,) if expect == 0 else (3, 4)), str(result)


def test_no_create(start_storage, winch, image, bucket_folder):
    """Without create there is nothing to do, and that is said at once."""
    storage = with_rights(start_storage, bucket_folder, 'get,list,buckets.get')
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=4)
    assert 'storage.objects.create' in result.err, result.err
    assert storage.stats()['requests'] < 100 and result.seconds < 20


@pytest.mark.parametrize('rights,expect', (('create', 3), ('create,get', 0)))
def test_lost_reply(rights, expect, start_storage, winch, image, bucket_folder, tmp_path):
    """A reply that got lost is found again with get, and honestly unverified without."""
    faults = tmp_path / 'faults'
    faults.write_text('{"method":"POST","name_contains":"middle/04.bin","nth":1,'
                      '"action":"lost_reply"}\n')
    storage = with_rights(start_storage, bucket_folder, rights, '--faults', str(faults))
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=expect)
    if expect:
        assert result.json['reasons'] == {'present-unverified': 1}, result.json


NOT_SERVED = {'action': 'status', 'status': 404, 'body': '404 page not found'}


@pytest.mark.parametrize('fault', (
    NOT_SERVED, {'action': 'status', 'status': 501, 'body': ''},
    {'action': 'status', 'status': 200, 'body': '<html>welcome</html>'}),
    ids=lambda fault: str(fault['status']))
def test_rights_not_served(fault, start_storage, winch, images, image, bucket_folder, tmp_path):
    """A server that does not know the optional call: said once, and everything is tried."""
    faults = tmp_path / 'faults.jsonl'
    faults.write_text(json.dumps({'path_contains': 'testPermissions', 'every': 1, **fault}))
    storage = with_rights(start_storage, bucket_folder, FULL, '--faults', str(faults))
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert 'rights could not be asked for' in result.err.lower(), result.err
    assert storage.stats()['composes'] > 0
    read_back(start_storage, storage, bucket_folder, images, result)


@pytest.mark.parametrize('served', (True, False))
def test_missing_bucket(served, start_storage, winch, image, tmp_path):
    """It stops at once all the same, whichever call tells it."""
    faults = tmp_path / 'faults.jsonl'
    faults.write_text('' if served else json.dumps(
        {'path_contains': 'testPermissions', 'every': 1, **NOT_SERVED}))
    storage = start_storage('--faults', str(faults))
    result = winch.migrate(storage, image, 'gs://missing-one/p', *OPTIONS, expect=5)
    assert 'missing-one' in result.json['error'] and 'does not exist' in result.json['error']
    assert storage.stats()['requests'] <= 2, storage.stats()


@pytest.mark.parametrize('name', ('manifest-00000', '/index.json', '/run.json'))
def test_create_only_killed_at_the_end(name, start_storage, winch, images, image, bucket_folder):
    """With create alone a control object of the session that died is neither seen nor replaced."""
    storage = with_rights(start_storage, bucket_folder, 'create')
    storage.hold(method='POST', name_contains=name, when='after')
    running = winch.start(storage, image, DESTINATION, *OPTIONS)
    assert storage.wait_until(lambda s: s['held'] >= 1, 60, running.alive), running.output()
    assert running.kill()
    storage.ask('DELETE', '/_fake/hold')
    storage.release()
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    read_back(start_storage, storage, bucket_folder, images, result, strays=True)
