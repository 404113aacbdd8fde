# SPDX-License-Identifier: GPL-3.0-or-later
"""--bwlimit: all connections together, evenly, small files and large; nothing is cut for it."""
import signal
import threading
import time

import pytest

from comparing import Comparison
from local_storage import DESTINATION
from manifest import Manifest

MIB = 1 << 20
SMALL, LARGE = 2000, 2      # the image of test_chaos.py
EXCLUDE_LARGE = ('--exclude', 'large')
ONE_LARGE = ('--include', 'large/00.bin')


@pytest.fixture
def image(images):
    return images.get('mixed-%d' % SMALL, 'mixed', SMALL, LARGE)


class Watch:
    """Received bytes, looked at every 20 ms while a migration runs."""

    def __init__(self, storage):
        self.storage = storage
        self.looks = []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.done.wait(0.02):
            self.looks.append((time.monotonic(), self.storage.stats()['received_bytes']))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.done.set()
        self.thread.join()

    def most_within(self, seconds):
        """The most bytes that came within that time."""
        most, first = 0, 0
        for index, (now, _) in enumerate(self.looks):
            while self.looks[first][0] < now - seconds:
                first += 1
            most = max(most, self.looks[index][1] - self.looks[first][1])
        return most


@pytest.mark.parametrize('options,rate', [
    (EXCLUDE_LARGE, 2 * MIB),
    (ONE_LARGE, 16 * MIB),
    ((*ONE_LARGE, '--part-size', '4M', '--connections', '16'), 16 * MIB),
])
def test_evenly(storage, winch, images, image, options, rate):
    with Watch(storage) as watch:
        result = winch.migrate(storage, image, DESTINATION, *options, '--progress', 'none',
                               '--bwlimit', str(rate))
    wanted = result.json['bytes'] / rate
    assert wanted - 0.5 <= result.seconds <= wanted * 1.3 + 2, (wanted, result.seconds)
    # Heads of requests and what lies in the kernel's buffers come on top.
    assert watch.most_within(1) <= rate * 1.5 + MIB, (watch.most_within(1), rate)
    assert storage.stats()['max_inserts_per_object'] == 1
    bucket = storage.bucket()
    rows = [row for row in images.rows('mixed-%d' % SMALL)
            if row.want == 'data' and row.path.startswith(b'large/') == (options != EXCLUDE_LARGE)
            and not row.path.endswith(b'/01.bin')]
    manifest = Manifest(bucket, 'p')
    comparison = Comparison(bucket, manifest, 'p')
    for row in rows:
        comparison.compare_file(row, manifest.by_path()[row.path.decode()])
    comparison.assert_equal()


def test_very_slow_is_no_stall_and_ends_at_once(storage, winch, image):
    """1 KiB a second: nothing is called stalled, and Ctrl-C does not wait for it."""
    running = winch.start(storage, image, DESTINATION, '--bwlimit', '1K')
    assert storage.wait_until(lambda stats: stats['received_bytes'] > 2000, 60, running.alive)
    first = storage.stats()['received_bytes']
    time.sleep(3)
    assert storage.stats()['received_bytes'] - first < 70000
    started = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    running.process.send_signal(signal.SIGINT)
    assert running.wait(20) == 130, running.output()
    assert time.monotonic() - started < 5, running.output()


def test_timetable(storage, winch, image):
    """The row that began last holds: not the one that begins in two hours."""
    minute, later = time.localtime(time.time() - 60), time.localtime(time.time() + 7200)
    table = '%02d:%02d,off %02d:%02d,1K' % (minute.tm_hour, minute.tm_min, later.tm_hour,
                                            later.tm_min)
    result = winch.migrate(storage, image, DESTINATION, *EXCLUDE_LARGE, '--bwlimit', table)
    assert result.seconds < 60


def test_mistake(storage, winch, image):
    result = winch.migrate(storage, image, DESTINATION, '--bwlimit', '08:00', expect=2)
    assert '08:00: a row is TIME,RATE' in result.err, result.err
