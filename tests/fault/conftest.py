# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what was made to fail, shown at the end."""
import collections
import os
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ('images', 'integration'):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))

import ntfs_image   # pylint: disable=wrong-import-position
import world        # pylint: disable=wrong-import-position

OUTCOMES = collections.defaultdict(collections.Counter)


@pytest.fixture(scope='session', name='image')
def fixture_image(tmp_path_factory):
    why = ntfs_image.why_no_mount()
    if why:
        pytest.skip(why)
    path = str(tmp_path_factory.mktemp('torture') / 'image' / 'disk.img')
    world.make_image(path)
    return path


def seconds_from_now(seconds):
    return time.monotonic() + seconds


def pytest_terminal_summary(terminalreporter):
    if not OUTCOMES:
        return
    terminalreporter.section('torture')
    for name, counter in OUTCOMES.items():
        terminalreporter.write_line('%-28s %3d tried: %s' % (
            name, sum(counter.values()), ', '.join(
                '%s %d' % (outcome, count) for outcome, count in sorted(counter.items()))))
