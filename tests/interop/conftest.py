# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the interop suite: each client with a server of its own, and the table of results.

Environment: WINCH, FAKE_GCS and WINCH_IMAGES as in tests/integration/conftest.py; WINCH_INTEROP is
where clients.sh has put the clients (else build/interop).
"""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
IMAGES = os.path.join(TOP, 'tests', 'images')
sys.path[:0] = [HERE, os.path.join(TOP, 'tests', 'integration'), IMAGES]

import clients                              # noqa: E402
import expectation                          # noqa: E402
import ntfs_image                           # noqa: E402
from local_storage import LocalStorage      # noqa: E402
from operations import OPERATIONS           # noqa: E402
from table import EMULATED, EMULATORS, TABLE    # noqa: E402
from winch_program import Winch             # noqa: E402
from world import BUCKET, TlsStorage, World, Written    # noqa: E402

BY_NAME = {client.name: client for client in clients.CLIENTS}


def binary(variable, name):
    path = os.environ.get(variable) or os.path.join(TOP, 'build', name)
    if not os.access(path, os.X_OK):
        pytest.skip('%s is not built' % path)
    return path


def pytest_generate_tests(metafunc):
    """An absent client is one skipped test, not a column of them."""
    if 'operation' not in metafunc.fixturenames:
        return
    cases = []
    for client in clients.CLIENTS:
        if clients.ABSENT[client.name]:
            cases.append((client.name, ''))
            continue
        for operation in OPERATIONS:
            if operation in client.not_offered:
                TABLE.add(client.name, operation, 'none', client.not_offered[operation])
            else:
                cases.append((client.name, operation))
    metafunc.parametrize('client_name, operation', cases,
                         ids=['-'.join(filter(None, case)) for case in cases])


@pytest.fixture(scope='session')
def image_folder(tmp_path_factory):
    return os.environ.get('WINCH_IMAGES') or str(tmp_path_factory.mktemp('images'))


@pytest.fixture(scope='session')
def kinds_image(image_folder):
    """(image, rows), or why there is none."""
    image = os.path.join(image_folder, 'kinds.img')
    if not os.path.exists(image):
        missing = ntfs_image.why_no_mount()
        if missing:
            return None, missing
        done = subprocess.run(['/usr/bin/python3', '-B', os.path.join(IMAGES, 'mkimages.py'),
                               image_folder, 'kinds'], check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout[-2000:]
    return image, expectation.read(os.path.join(image_folder, 'kinds.tsv'))


@pytest.fixture
def winch(tmp_path):
    return Winch(binary('WINCH', 'winch'), tmp_path / 'state')


@pytest.fixture
def new_winch(tmp_path):
    """More programs with state folders of their own: new_winch('second')."""
    return lambda name: Winch(binary('WINCH', 'winch'), tmp_path / ('state-' + name))


@pytest.fixture(scope='session')
def written(tmp_path_factory, kinds_image):
    """What winch wrote, once for all clients."""
    folder = tmp_path_factory.mktemp('written')
    written = Written(str(folder / 'storage'))
    image, rows = kinds_image
    if image is None:
        os.mkdir(written.folder)
        written.missing = rows
    else:
        winch = Winch(binary('WINCH', 'winch'), folder / 'state')
        written.fill(winch, binary('FAKE_GCS', 'fake-gcs'), image, rows)
    return written


@pytest.fixture(scope='session')
def worlds(tmp_path_factory, written):
    """worlds(name): the world of a client, made when it is first asked for."""
    made = {}

    def make(name):
        folder = tmp_path_factory.mktemp(name)
        kept = str(folder / 'storage')
        written.copy_to(kept)
        options = ('--md5', '--dir', kept)
        program = binary('FAKE_GCS', 'fake-gcs')
        storage = (TlsStorage(program, str(folder), *options) if name == 'gsutil'
                   else LocalStorage(program, *options))
        (folder / 'home').mkdir()
        client = BY_NAME[name](storage, BUCKET, folder / 'home')
        TABLE.version(name, client.version())
        return World(client, storage, folder, written)

    def get(name):
        if name not in made:
            made[name] = make(name)
        return made[name]
    yield get
    for world in made.values():
        world.client.close()
    ended = {name: (world.storage.log(), world.storage.stop()) for name, world in made.items()}
    assert all(alive for _, alive in ended.values()), 'fake-gcs died: %s' % ended


def pytest_terminal_summary(terminalreporter):
    for name, missing in clients.ABSENT.items():
        if missing:
            TABLE.version(name, 'skipped: ' + missing)
    terminalreporter.section('interop')
    for line in TABLE.lines(list(BY_NAME), list(OPERATIONS)):
        terminalreporter.write_line(line)
    terminalreporter.write_line('')
    terminalreporter.write_line('winch against other servers')
    for line in EMULATED.lines(EMULATORS, ('migrate', 'front', 'again', 'kill')):
        terminalreporter.write_line(line)
