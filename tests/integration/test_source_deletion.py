# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts that the compose itself deletes: asked for, believed only when seen, else deleted one by
one. Nothing is left either way."""
import json

import pytest

from comparing import Comparison
from conftest import MOVE
from local_storage import DESTINATION
from manifest import Manifest

OPTIONS = ('--part-size', '2M', '--connections', '4', '--progress', 'none')
PARTS = 36


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


@pytest.fixture
def check(images):
    def check_all(storage):
        assert storage.stats()['parts_left'] == 0
        bucket = storage.bucket()
        manifest = Manifest(bucket, 'p')
        Comparison(bucket, manifest, 'p').compare(images.rows('move')).assert_equal()
    return check_all


def start_with(start_storage, tmp_path, *faults, options=()):
    name = tmp_path / 'faults'
    name.write_text(''.join(json.dumps(fault) + '\n' for fault in faults))
    return start_storage('--faults', str(name), *options)


def test_honoured(storage, winch, image, check):
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    stats = storage.stats()
    assert stats['composes'] == 3
    assert stats['deletes'] <= 1, stats      # the segment
    assert 1 <= stats['gets'] <= 4, stats    # the look at one of the sources
    check(storage)


def test_ignored(start_storage, winch, image, check):
    storage = start_storage('--ignore-delete-sources')
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert storage.stats()['deletes'] >= PARTS + 2
    check(storage)


def test_refused(start_storage, winch, image, check, tmp_path):
    """A server that takes no member it does not know: asked once more without it."""
    storage = start_with(start_storage, tmp_path,
                         {'path_contains': '/compose', 'nth': 1, 'action': 'status', 'status': 400},
                         options=('--ignore-delete-sources',))
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert storage.stats()['composes'] == 3
    check(storage)


@pytest.mark.parametrize('nth', (1, 2, 3))
def test_a_wrong_result_took_its_parts_with_it(nth, start_storage, winch, image, check, tmp_path):
    storage = start_with(start_storage, tmp_path,
                         {'path_contains': '/compose', 'nth': nth, 'action': 'wrong_crc'})
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert storage.stats()['max_inserts_per_object'] <= 2
    check(storage)


@pytest.mark.parametrize('action', ('lost_reply', 'cut_reply'))
def test_lost_replies(action, start_storage, winch, image, check, tmp_path):
    storage = start_with(start_storage, tmp_path,
                         {'path_contains': '/compose', 'every': 2, 'action': action})
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert storage.stats()['max_inserts_per_object'] == 1
    check(storage)


def test_the_look_fails(start_storage, winch, image, check, tmp_path):
    """What cannot be seen is not believed."""
    storage = start_with(start_storage, tmp_path,
                         {'method': 'GET', 'name_contains': '.winch/parts/', 'every': 1,
                          'action': 'status', 'status': 403})
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    check(storage)
