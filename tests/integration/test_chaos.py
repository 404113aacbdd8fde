# SPDX-License-Identifier: GPL-3.0-or-later
"""Chaos: one request in twenty meets a fault, seven kinds in equal parts, and the run is complete
and exact all the same, at a bounded price. A seed strikes the same share again.

WINCH_CHAOS=long: 20,000 small and 20 large objects, three seeds; else a tenth, and one seed.
"""
import json
import os

import pytest

from comparing import Comparison, check_counts
from conftest import CHAOS
from local_storage import DESTINATION
from manifest import Manifest

IS_LONG = os.environ.get('WINCH_CHAOS') == 'long'
SMALL, LARGE = (20000, 20) if IS_LONG else (2000, 2)
MIXED = 'mixed-%d' % SMALL
SEEDS = (1, 2, 3) if IS_LONG else (1,)
SHARE = 5               # of a hundred requests
TOKEN = 'chaos-token'
OPTIONS = ('--part-size', '4M', '--connections', '64', '--progress', 'none')

BUSY = '<html><head><title>503</title></head><body>The service is busy</body></html>'
UPLOADS = {'method': 'POST', 'path_contains': '/upload/storage/'}
WRITES = {'method': 'POST', 'path_contains': '/storage/v1/b/'}
KINDS = (
    ('lost reply after commit', {**WRITES, 'action': 'lost_reply'}),
    ('reset in the body', {**UPLOADS, 'action': 'reset_after_bytes', 'bytes': 700}),
    ('stall', {'path_contains': '/storage/v1/', 'action': 'stall', 'ms': 1500}),
    ('wrong crc', {**WRITES, 'action': 'wrong_crc'}),
    ('401', {'path_contains': '/storage/v1/', 'action': 'status', 'status': 401}),
    ('429', {'path_contains': '/storage/v1/', 'action': 'status', 'status': 429}),
    ('503 with HTML', {'path_contains': '/storage/v1/', 'action': 'status', 'status': 503,
                       'headers': {'Content-Type': 'text/html'}, 'body': BUSY}),
)
# The body stops in the middle for longer than anybody waits: cut, and sent again.
HANG = {**UPLOADS, 'nth': 500, 'action': 'stall', 'ms': 45000, 'bytes': 300}


def fault_lines(seed):
    lines = [HANG] if IS_LONG else []
    for number, (_, fault) in enumerate(KINDS):
        lines.append({**fault, 'percent': SHARE / len(KINDS), 'seed': seed * 100 + number})
    return ''.join(json.dumps(line) + '\n' for line in lines)


@pytest.fixture(scope='module')
def image(images):
    return images.get(MIXED, 'mixed', SMALL, LARGE)


def migrate(start_storage, winch, image, *options):
    storage = start_storage('--require-token', TOKEN, '--metadata-token', TOKEN, *options)
    storage.token = TOKEN
    result = winch.migrate(None, image, DESTINATION, *OPTIONS,
                           CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=storage.url,
                           GCE_METADATA_HOST='127.0.0.1:%d' % storage.port)
    return storage, result


@pytest.fixture(scope='module')
def quiet():
    """Requests of the same migration without faults, once made."""
    return {}


@pytest.mark.parametrize('seed', SEEDS)
def test_chaos(seed, start_storage, new_winch, images, image, quiet, tmp_path):
    if not quiet:
        storage, _ = migrate(start_storage, new_winch('quiet'), image)
        quiet['requests'] = storage.stats()['requests']
        storage.stop()
    name = tmp_path / 'faults.jsonl'
    name.write_text(fault_lines(seed))
    storage, result = migrate(start_storage, new_winch('chaos'), image, '--faults', str(name))
    stats = storage.stats()
    storage.request('DELETE', '/_fake/faults')
    bound = quiet['requests'] * 1.15 + 3 * stats['faults']
    CHAOS.append((seed, SMALL, LARGE, quiet['requests'], stats['faults'], stats['requests'],
                  int(bound), stats['parts_left'], result.seconds))
    assert stats['faults'] > stats['requests'] * SHARE / 200, stats
    assert stats['parts_left'] == 0, stats
    assert stats['requests'] <= bound, stats
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p')
    Comparison(bucket, manifest, 'p').compare(images.rows(MIXED)).assert_equal()
    check_counts(result, manifest)
    assert result.json['failed'] == 0, result.json
