# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 at any moment: the next run goes on, sends nothing twice, and leaves nothing behind."""
import json
import os
import shutil
import signal

import pytest

from local_storage import DESTINATION
import ntfs_image
from comparing import Comparison, check_counts
from conftest import MOVE
from manifest import Manifest

OPTIONS = ('--part-size', '2M', '--connections', '4')
KILLS = 10
# Latency spreads the small objects over seconds, so that a kill can hit among them.
LATENCY = ('--latency-ms', '2')
HELD_SECONDS = 60

# Where a kill hurts most: what to hold, and what has happened when it is held.
POINTS = (
    ('between the last compose and the journal',
     {'method': 'POST', 'path_contains': 'large.bin/compose', 'when': 'after'}),
    ('between compose and the deletes of its parts',
     {'method': 'DELETE', 'path_contains': '.winch/parts/', 'when': 'before'}),
    ('in the manifest upload',
     {'method': 'POST', 'name_contains': 'manifest-00000', 'when': 'before'}),
    ('between manifest and run.json',
     {'method': 'POST', 'name_contains': '/run.json', 'when': 'before'}),
)


class Reference:
    """The bucket after a run that nobody disturbed."""

    def __init__(self, storage, winch, image):
        result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
        self.content = storage.bucket().content('p')
        self.stats = storage.stats()
        self.result = result
        assert self.stats['max_inserts_per_object'] == 1, self.stats
        assert self.stats['parts_left'] == 0, self.stats
        assert self.stats['composes'] >= 3, self.stats

    def received(self):
        return self.stats['received_bytes']


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


@pytest.fixture
def reference(start_storage, new_winch, image):
    return Reference(start_storage(*LATENCY), new_winch('reference'), image)


def options_for(match):
    """Deletes of parts are sent where the server does not delete them with the compose."""
    return ('--ignore-delete-sources',) if match['method'] == 'DELETE' else ()


def data_missing(storage, reference):
    return set(reference.content) - set(storage.bucket().content('p'))


def kill_after_bytes(storage, winch, image, count):
    """Start a run; kill it once the server has received `count` more bytes. True if it worked."""
    before = storage.stats()['received_bytes']
    running = winch.start(storage, image, DESTINATION, *OPTIONS)
    reached = storage.wait_until(lambda s: s['received_bytes'] >= before + count, HELD_SECONDS,
                                 running.alive)
    killed = running.kill()
    return reached and killed


def kill_while_held(storage, winch, image, match):
    storage.hold(**match)
    running = winch.start(storage, image, DESTINATION, *OPTIONS)
    held = storage.wait_until(lambda s: s['held'] >= 1, HELD_SECONDS, running.alive)
    killed = running.kill()
    storage.release()
    assert held and killed, '%s: never came: %s' % (match, running.output())
    assert storage.wait_until(lambda s: s['held'] == 0, 10)


def check_end(storage, winch, image, reference, images, inserts=2):
    """One more run ends clean, and nothing shows what went before."""
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    stats = storage.stats()
    assert stats['max_inserts_per_object'] <= inserts, stats
    assert stats['parts_left'] == 0, stats
    assert storage.bucket().content('p') == reference.content
    manifest = Manifest(storage.bucket(), 'p', result.json['run'])
    Comparison(storage.bucket(), manifest, 'p').compare(
        images.rows('move')).assert_equal()
    check_counts(result, manifest)
    return result


def test_ten_kills(start_storage, winch, images, image, reference):
    storage = start_storage(*LATENCY, '--ignore-delete-sources')
    in_flight = 0
    for _ in range(KILLS):
        hit = kill_after_bytes(storage, winch, image, reference.received() // 20)
        in_flight += bool(hit and data_missing(storage, reference))
    assert in_flight >= 8, 'only %d of %d kills hit a run that was uploading' % (in_flight, KILLS)
    for _, match in POINTS:
        kill_while_held(storage, winch, image, match)
    result = check_end(storage, winch, image, reference, images)
    assert result.json['streams_uploaded'] == reference.result.json['streams_uploaded']


@pytest.mark.parametrize('title,match', POINTS, ids=[point[0] for point in POINTS])
def test_kill_at(title, match, start_storage, winch, images, image, reference):
    storage = start_storage(*options_for(match))
    kill_while_held(storage, winch, image, match)
    check_end(storage, winch, image, reference, images)


@pytest.mark.parametrize('match', (
    {'method': 'POST', 'name_contains': 'manifest-00000', 'when': 'after'},
    {'method': 'POST', 'name_contains': '/run.json', 'when': 'after'},
    {'method': 'POST', 'path_contains': 'compose', 'when': 'before'},
    {'method': 'POST', 'path_contains': 'compose', 'when': 'after'},
    {'method': 'DELETE', 'path_contains': '.winch/parts/', 'when': 'after', 'nth': 20},
), ids=lambda match: '%s %s' % (match.get('name_contains') or match['path_contains'],
                                match['when']))
def test_kill_around(match, start_storage, winch, images, image, reference):
    """More points of the same kind, on both sides of what the server does."""
    storage = start_storage(*options_for(match))
    kill_while_held(storage, winch, image, match)
    check_end(storage, winch, image, reference, images)


@pytest.mark.parametrize('match', (
    {'method': 'POST', 'path_contains': 'large.bin/compose', 'when': 'after'},
    {'method': 'DELETE', 'path_contains': '.winch/parts/', 'when': 'before'},
    {'method': 'DELETE', 'path_contains': '.winch/parts/', 'when': 'after', 'nth': 20},
    {'method': 'DELETE', 'path_contains': '.winch/parts/', 'when': 'before', 'nth': 34},
    {'method': 'DELETE', 'path_contains': '.winch/parts/', 'when': 'before', 'nth': 37},
    {'method': 'POST', 'name_contains': 'manifest-00000', 'when': 'before'},
), ids=lambda match: '%s %s %s' % (match.get('name_contains') or match['path_contains'],
                                   match['when'], match.get('nth', 1)))
def test_kill_without_the_right_to_list(match, start_storage, winch, image, reference):
    """Every part is known gone at the end, by name, where nobody may list."""
    storage = start_storage('--rights', 'create,get,delete', *options_for(match))
    kill_while_held(storage, winch, image, match)
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert storage.stats()['parts_left'] == 0
    objects = [json.loads(line) for line in
               storage.request('GET', '/_fake/objects')[1].decode().splitlines()]
    found = {item['name']: (str(item['size']), item['crc32c']) for item in objects
             if not item['name'].startswith('p/.winch/runs/')}
    assert found == reference.content


def test_state_lost(start_storage, winch, images, image, reference):
    """Without the state folder what stands in the bucket is found again by looking."""
    storage = start_storage(*LATENCY)
    assert kill_after_bytes(storage, winch, image, reference.received() * 3 // 4)
    complete = storage.bucket().content('p')
    there = sum(int(size) for name, (size, _) in complete.items() if name in reference.content)
    shutil.rmtree(winch.state_folder)
    before = storage.stats()['received_bytes']
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    sent = storage.stats()['received_bytes'] - before
    after = storage.bucket().content('p')
    assert {name: after.get(name) for name in reference.content} == reference.content
    # The manifest and the heads of requests come on top: allow them 10 %.
    assert sent <= reference.received() * 11 // 10 - there, (sent, there)
    assert storage.stats()['max_inserts_per_object'] <= 2
    check_counts(result, Manifest(storage.bucket(), 'p', result.json['run']))


def test_changed_between_kills(start_storage, winch, images, image, reference, tmp_path):
    """Another state of the source is another run; the bucket ends with the new content."""
    storage = start_storage(*LATENCY)
    copy = str(tmp_path / 'copy.img')
    ntfs_image.copy_sparse(image, copy)
    assert kill_after_bytes(storage, winch, copy, reference.received() * 9 // 10)
    new = os.urandom((3 << 20) + 1)
    ntfs_image.change_file(copy, 'middle/03.bin', new)
    ntfs_image.change_file(copy, 'd000/file000003.dat', b'new and shorter')
    kill_after_bytes(storage, winch, copy, reference.received() // 20)
    result = winch.migrate(storage, copy, DESTINATION, *OPTIONS)
    bucket = storage.bucket()
    assert bucket.get('p/middle/03.bin') == new
    assert bucket.get('p/d000/file000003.dat') == b'new and shorter'
    changed = ('p/middle/03.bin', 'p/d000/file000003.dat')
    content = bucket.content('p')
    for name, value in reference.content.items():
        assert name in changed or content[name] == value, name
    run = result.json['run']
    left = [name for name in content if '/.winch/parts/' in name and run in name]
    assert not left, 'parts of the finished run are left: %s' % left[:3]
    check_counts(result, Manifest(bucket, 'p', run))


@pytest.mark.parametrize('number,code', ((signal.SIGTERM, 143), (signal.SIGINT, 130)))
def test_signal(number, code, start_storage, winch, images, image, reference):
    """A signal drains and tells that the same command goes on."""
    storage = start_storage(*LATENCY)
    running = winch.start(storage, image, DESTINATION, *OPTIONS)
    assert storage.wait_until(lambda s: s['received_bytes'] > reference.received() // 10,
                              HELD_SECONDS, running.alive), running.output()
    assert running.end(number, 15) == code, running.output()
    check_end(storage, winch, image, reference, images, inserts=1)


def test_max_duration(start_storage, winch, images, image, reference):
    storage = start_storage('--latency-ms', '5')
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--max-duration', '1s',
                           expect=75)
    assert result.seconds < 15
    check_end(storage, winch, image, reference, images)


def test_run_id(start_storage, winch, images, image, reference):
    """--run-id takes exactly that run, or none."""
    storage = start_storage()
    winch.migrate(storage, image, DESTINATION, *OPTIONS, '--run-id',
                  '20200101T000000Z-00000000', expect=10)
    assert not storage.bucket().list()
