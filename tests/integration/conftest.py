# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures: the local Cloud Storage, winch, and images; each test skips when its need is missing.

Environment: WINCH and FAKE_GCS name other binaries than those of build/, WINCH_SHARED the folder
with images of real Windows (else ../shared beside the checkout), WINCH_IMAGES a folder to keep
images in.
"""
import hashlib
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
IMAGES = os.path.join(TOP, 'tests', 'images')
sys.path[:0] = [HERE, IMAGES]

import expectation                          # noqa: E402
import ntfs_image                           # noqa: E402
from local_storage import LocalStorage      # noqa: E402
from winch_program import Winch             # noqa: E402

# One large file, files of middle size, 1,200 small ones: mkimages.py makes move.img of it. With
# parts of 2 MiB the large one becomes a tree of three composes.
MOVE = ('move', 1200, 72 << 20)
# Filled by test_images.py, printed at the end.
TABLE = []
CHAOS = []      # filled by test_chaos.py, printed, too


def binary(variable, name):
    path = os.environ.get(variable) or os.path.join(TOP, 'build', name)
    if not os.access(path, os.X_OK):
        pytest.skip('%s is not built' % path)
    return path


@pytest.fixture
def start_storage():
    """Start servers of one's own: start_storage('--rights', 'create')."""
    started = []

    def start(*options):
        started.append(LocalStorage(binary('FAKE_GCS', 'fake-gcs'), *options))
        return started[-1]
    yield start
    ended = [(storage.log(), storage.stop()) for storage in started]
    assert all(alive for _, alive in ended), 'fake-gcs died: %s' % ended


@pytest.fixture
def storage(start_storage):
    return start_storage()


@pytest.fixture
def winch(tmp_path):
    return Winch(binary('WINCH', 'winch'), tmp_path / 'state')


@pytest.fixture
def new_winch(tmp_path):
    """More programs with state folders of their own: new_winch('second')."""
    return lambda name: Winch(binary('WINCH', 'winch'), tmp_path / ('state-' + name))


def make_images(folder, *names):
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    done = subprocess.run(['/usr/bin/python3', '-B', os.path.join(IMAGES, 'mkimages.py'),
                           str(folder), *map(str, names)], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-2000:]


def file_sha256(name):
    digest = hashlib.sha256()
    with open(name, 'rb') as stream:
        end = os.fstat(stream.fileno()).st_size
        position = 0
        # Holes are told by their length: hashing 128 GiB of zeros would take minutes.
        while position < end:
            try:
                data = os.lseek(stream.fileno(), position, os.SEEK_DATA)
            except OSError:
                break
            hole = os.lseek(stream.fileno(), data, os.SEEK_HOLE)
            digest.update(b'%d %d;' % (data, hole))
            while data < hole:
                block = os.pread(stream.fileno(), min(4 << 20, hole - data), data)
                digest.update(block)
                data += len(block)
            position = hole
        digest.update(b'end %d' % end)
    return digest.hexdigest()


class ImageStore:
    """Images made once for all tests of a session, and proven unchanged at its end."""

    def __init__(self, folder):
        self.folder = folder
        self.sums = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def get(self, name, *maker):
        """Path of `name`; made by mkimages.py with `maker` (default: the name) if not here."""
        path = self.path(name + '.img')
        if not os.path.exists(path):
            make_images(self.folder, *(maker or (name,)))
        if path not in self.sums:
            self.sums[path] = file_sha256(path)
        return path

    def rows(self, name):
        return expectation.read(self.path(name + '.tsv'))

    def changed(self):
        return [path for path, value in self.sums.items() if file_sha256(path) != value]


@pytest.fixture(scope='session')
def images(tmp_path_factory):
    store = ImageStore(os.environ.get('WINCH_IMAGES') or str(tmp_path_factory.mktemp('images')))
    yield store
    assert not store.changed(), 'images were changed: %s' % store.changed()


@pytest.fixture(scope='session')
def shared_images():
    folder = os.environ.get('WINCH_SHARED') or os.path.join(os.path.dirname(TOP), 'shared')
    folder = os.path.join(folder, 'images')
    if not os.path.isfile(os.path.join(folder, 'expected', 'volumes.tsv')):
        pytest.skip('no images of real Windows at %s' % folder)
    return folder


def pytest_terminal_summary(terminalreporter):
    if TABLE:
        terminalreporter.section('images')
        line = '%-18s %6s %9s %7s  %-40s %s'
        terminalreporter.write_line(line % ('volume', 'rows', 'uploaded', 'inline', 'by reason',
                                            'verdict'))
        for row in TABLE:
            terminalreporter.write_line(line % row)
    if CHAOS:
        terminalreporter.section('chaos')
        terminalreporter.write_line('%4s %6s %5s %11s %7s %9s %8s %11s %8s' % (
            'seed', 'small', 'large', 'fault-free', 'faults', 'requests', 'at most', 'parts left',
            'seconds'))
        for row in CHAOS:
            terminalreporter.write_line('%4d %6d %5d %11d %7d %9d %8d %11d %8.1f' % row)
