# SPDX-License-Identifier: GPL-3.0-or-later
"""A network and a server that misbehave: the run ends clean, nothing is sent twice for nothing."""
import json

import pytest

from comparing import Comparison, check_counts
from conftest import MOVE
from local_storage import DESTINATION
from manifest import Manifest

OPTIONS = ('--part-size', '2M', '--connections', '8', '--progress', 'json')

# name: (faults, most inserts of one object)
FAULTS = {
    'every 25th insert answers 503': ([
        {'method': 'POST', 'path_contains': '/o?', 'every': 25, 'action': 'status',
         'status': 503}], 1),
    'a burst of 429': ([
        {'method': 'POST', 'nth': 20, 'count': 8, 'action': 'status', 'status': 429}], 1),
    'every 20th request is reset': ([{'every': 20, 'action': 'reset'}], 1),
    'parts are reset in the middle': ([
        {'method': 'POST', 'name_contains': '.winch/parts/', 'every': 5,
         'action': 'reset_after_bytes', 'after_bytes': 1 << 20}], 1),
    'every 9th reply of an insert is lost': ([
        {'method': 'POST', 'path_contains': 'upload/storage', 'every': 9,
         'action': 'lost_reply'}], 1),
    'the reply of each compose is lost once': ([
        {'method': 'POST', 'path_contains': '/compose', 'every': 2, 'action': 'lost_reply'}], 1),
    'replies of deletes are lost': ([
        {'method': 'DELETE', 'every': 3, 'action': 'lost_reply'}], 1),
    'a small object has another checksum': ([
        {'method': 'POST', 'name_contains': 'file000100.dat', 'nth': 1,
         'action': 'wrong_crc'}], 2),
    'a whole object has another checksum': ([
        {'method': 'POST', 'name_contains': 'middle/07.bin', 'nth': 1,
         'action': 'wrong_crc'}], 2),
    'a part has another checksum': ([
        {'method': 'POST', 'name_contains': '.winch/parts/', 'nth': 3,
         'action': 'wrong_crc'}], 2),
    'a compose has another checksum': ([
        {'method': 'POST', 'path_contains': '/compose', 'nth': 1, 'action': 'wrong_crc'}], 2),
    'replies are cut': ([{'method': 'POST', 'every': 40, 'action': 'cut_reply'}], 1),
    'some requests stall': ([
        {'method': 'POST', 'every': 200, 'action': 'stall', 'ms': 1500}], 1),
    'listing fails at first': ([
        {'method': 'GET', 'path_contains': '/o?', 'nth': 1, 'count': 2, 'action': 'status',
         'status': 500}], 1),
    'an error page of a proxy': ([
        {'method': 'POST', 'every': 50, 'action': 'status', 'status': 502,
         'body': '<html><body>Bad gateway</body></html>'}], 1),
}


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


def start_with(start_storage, tmp_path, faults):
    name = tmp_path / 'faults.jsonl'
    name.write_text(''.join(json.dumps(fault) + '\n' for fault in faults))
    deletes = any(fault.get('method') == 'DELETE' for fault in faults)
    return start_storage('--faults', str(name), *(('--ignore-delete-sources',) if deletes else ()))


def progress_lines(text):
    lines = []
    for line in text.splitlines():
        if line.startswith('{'):
            lines.append(json.loads(line))
    return [line for line in lines if 'phase' in line]


@pytest.mark.parametrize('name', FAULTS)
def test_fault(name, start_storage, winch, images, image, tmp_path):
    faults, inserts = FAULTS[name]
    storage = start_with(start_storage, tmp_path, faults)
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    stats = storage.stats()
    assert stats['max_inserts_per_object'] <= inserts, stats
    assert stats['parts_left'] == 0, stats
    assert stats.get('faults', 1) > 0, 'no fault struck: %s' % stats
    lines = progress_lines(result.err)
    if not any(word in name for word in ('stall', 'checksum', 'compose', 'listing')):
        assert lines and lines[-1]['retries'] > 0, lines[-1:]
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p')
    Comparison(bucket, manifest, 'p').compare(images.rows('move')).assert_equal()
    check_counts(result, manifest)


def test_forbidden_stops_at_once(start_storage, winch, image, tmp_path):
    storage = start_with(start_storage, tmp_path, [
        {'every': 1, 'action': 'status', 'status': 403}])
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=4)
    assert result.seconds < 20
    assert storage.stats()['requests'] < 100


def test_gives_up(start_storage, winch, images, image, tmp_path):
    """Longer than --give-up: exit 75, and the same command goes on when the server is back."""
    storage = start_with(start_storage, tmp_path, [
        {'method': 'POST', 'nth': 200, 'count': 1000000000, 'action': 'status', 'status': 503}])
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--give-up', '3s',
                           expect=75)
    assert result.seconds < 60
    assert '503' in result.json['error'], result.json


def test_no_server(start_storage, winch, image):
    """Nobody listens: temporary, after --give-up."""
    storage = start_storage()
    storage.stop()
    result = winch.migrate(storage, image, DESTINATION, '--give-up', '2s', expect=75)
    assert result.seconds < 30
    assert '127.0.0.1' in result.err


def test_refused_object(start_storage, winch, image, tmp_path):
    """What the server will not take is that one file's failure."""
    storage = start_with(start_storage, tmp_path, [
        {'method': 'POST', 'name_contains': 'd000/file000200.dat', 'every': 1, 'action': 'status',
         'status': 400, 'body': '{"error":{"code":400,"message":"no","errors":'
                                '[{"reason":"invalid","message":"no"}]}}'}])
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=3)
    assert result.json['reasons'] == {'upload-refused': 1}, result.json
