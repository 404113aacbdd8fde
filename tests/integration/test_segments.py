# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that lost its state folder takes over what the segments in the bucket say."""
import re
import shutil
import time

from local_storage import DESTINATION
from comparing import check_counts
from conftest import MOVE
from manifest import Manifest

OPTIONS = ('--part-size', '2M', '--log-level', 'info')
SEGMENT_SECONDS = 60


def wait_for_segment(storage, running):
    """Until segment 1 is in the bucket; the objects that stand there then."""
    limit = time.monotonic() + SEGMENT_SECONDS
    while time.monotonic() < limit and running.alive():
        content = storage.bucket().list('p')
        if any(name.endswith('/segments/00001.jsonl.gz') for name in content):
            return content
        time.sleep(0.2)
    raise AssertionError('no segment came: ' + running.output())


def test_rebuilt_from_segments(start_storage, winch, images):
    image = images.get('move', *MOVE)
    # One slow connection, so that the run is still going on when its first segment is closed.
    storage = start_storage('--latency-ms', '40')
    running = winch.start(storage, image, DESTINATION, *OPTIONS, '--connections', '1')
    there = wait_for_segment(storage, running)
    assert running.kill()
    shutil.rmtree(winch.state_folder)

    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    known = re.search(r'(\d+) streams are known to be done from the run', result.err)
    assert known, result.err
    # Whatever the segment names stood in the bucket when it was closed.
    data = [name for name in there if '/.winch/' not in name]
    assert 0 < int(known[1]) <= len(data) + 1
    assert int(known[1]) >= len(data) // 2, (known[1], len(data))
    assert result.json['resumed'] is True
    stats = storage.stats()
    assert stats['max_inserts_per_object'] <= 2, stats
    assert stats['parts_left'] == 0, stats
    bucket = storage.bucket()
    assert not [name for name in bucket.list('p') if '/segments/' in name]
    check_counts(result, Manifest(bucket, 'p', result.json['run']))


def test_forged_segments_are_not_believed(start_storage, winch, images):
    """Segments that do not unpack, or name what the plan does not hold, change nothing."""
    image = images.get('move', *MOVE)
    storage = start_storage('--latency-ms', '20')
    running = winch.start(storage, image, DESTINATION, *OPTIONS, '--connections', '1')
    assert storage.wait_until(lambda s: s['inserts'] >= 20, SEGMENT_SECONDS, running.alive)
    assert running.kill()
    shutil.rmtree(winch.state_folder)
    bucket = storage.bucket()
    first = [n for n in bucket.list('p') if n.endswith('/segments/00000.jsonl.gz')]
    assert len(first) == 1
    for number, data in ((1, b'no gzip at all'), (2, bucket.get(first[0]) + b'tail')):
        name = first[0].replace('00000', '%05d' % number)
        bucket.put(name, data)

    result = winch.migrate(storage, image, DESTINATION, *OPTIONS)
    assert ' 0 streams are known to be done' in result.err, result.err
    assert storage.stats()['parts_left'] == 0
    check_counts(result, Manifest(bucket, 'p', result.json['run']))
