# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the differential suite: those of tests/integration, and the table of readers.

Environment: WINCH, FAKE_GCS, WINCH_SHARED, WINCH_IMAGES as in tests/integration/conftest.py.
"""
import importlib.util
import os
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
INTEGRATION = os.path.join(TOP, 'tests', 'integration')
sys.path[:0] = [HERE, INTEGRATION, os.path.join(TOP, 'tests', 'images')]


def load_integration():
    """tests/integration/conftest.py under another name: this file has its own already."""
    spec = importlib.util.spec_from_file_location('integration_fixtures',
                                                  os.path.join(INTEGRATION, 'conftest.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INTEGRATION_FIXTURES = load_integration()
images = INTEGRATION_FIXTURES.images
shared_images = INTEGRATION_FIXTURES.shared_images
start_storage = INTEGRATION_FIXTURES.start_storage
storage = INTEGRATION_FIXTURES.storage
winch = INTEGRATION_FIXTURES.winch

import ntfs_image                       # noqa: E402
import odd_volumes                      # noqa: E402
from results import TABLE, TREES        # noqa: E402


@pytest.fixture
def odd_volume(images):
    """odd_volume('odd-names'): the path of an image of odd_volumes.py."""
    def get(name):
        missing = ntfs_image.why_no_mount()
        if missing:
            pytest.skip(missing)
        return odd_volumes.get(images.folder, name)
    return get


def pytest_addoption(parser):
    parser.addoption('--seeds', type=int, default=None, metavar='N',
                     help='random trees to try (default: as many as fit into 35 s)')
    parser.addoption('--seed', type=int, default=None, metavar='S',
                     help='the first seed (default: WINCH_SEED, else 1, in long runs chance)')


def pytest_terminal_summary(terminalreporter):
    if TREES:
        terminalreporter.section('trees')
        for line in TREES:
            terminalreporter.write_line(line)
    if not TABLE.empty():
        terminalreporter.section('readers')
        for line in TABLE.lines():
            terminalreporter.write_line(line)
