# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes of every kind: the exit code, and one or two lines that name the thing."""
import json
import os
import shutil
import struct
import subprocess
import tempfile

import pytest

import disks
import ntfs_image
from conftest import MOVE
from local_storage import DESTINATION
from winch_program import Winch

LINES_MAX = 4
NOBODY = 65534
MIB = 1 << 20
NEVER_SHOWN = ('Traceback', 'backtrace', 'Assertion', 'core dumped', 'Segmentation', '\x1b')


def check_message(result, exits, *words):
    """An expected exit code, few lines, and in them what the user gave."""
    assert result.exit in exits, str(result)
    lines = [line for line in result.err.splitlines() if line.strip()]
    assert 1 <= len(lines) <= LINES_MAX, result.err
    for word in NEVER_SHOWN:
        assert word not in result.err, result.err
    for word in words:
        assert word.lower() in result.err.lower(), (word, result.err)


@pytest.fixture
def small(tmp_path):
    """A small volume without a disk around it, made for being spoilt."""
    if ntfs_image.find_program('mkntfs') is None:
        pytest.skip('mkntfs is not installed')
    image = str(tmp_path / 'small.img')
    ntfs_image.make_volume(image, 16 * MIB, 'SMALL')
    return image


def spoil(image, offset, data):
    with open(image, 'r+b') as stream:
        stream.seek(offset)
        stream.write(data)


# ---- sources ---------------------------------------------------------------------------------

def make_text(folder):
    name = os.path.join(folder, 'letter.txt')
    with open(name, 'w', encoding='ascii') as stream:
        stream.write('dear reader\n' * 1000)
    return name


def make_empty(folder):
    name = os.path.join(folder, 'nothing.img')
    with open(name, 'wb'):
        pass
    return name


def make_folder(folder):
    name = os.path.join(folder, 'a-folder')
    os.mkdir(name)
    return name


def make_no_ntfs(folder):
    """A partition table with FAT only."""
    name = os.path.join(folder, 'fat-only.img')
    with open(name, 'wb') as stream:
        stream.truncate(40 * MIB)
    disks.write_table(name, 'label: dos\nstart=2048, size=32768, type=6\n')
    spoil(name, 2048 * 512, disks.fat_boot_sector(32768))
    return name


def make_wrapped(magic, ending):
    def make(folder):
        name = os.path.join(folder, 'wrapped.' + ending)
        with open(name, 'wb') as stream:
            stream.write(magic)
            stream.truncate(4 * MIB)
        return name
    return make


SOURCES = {
    'a text file': (make_text, 'letter.txt'),
    'an empty file': (make_empty, 'nothing.img'),
    'a folder': (make_folder, 'a-folder'),
    'a missing file': (lambda folder: os.path.join(folder, 'not-here.img'), 'not-here.img'),
    'a disk without NTFS': (make_no_ntfs, 'fat-only.img'),
    'a VHDX file': (make_wrapped(b'vhdxfile', 'vhdx'), 'vhdx'),
    'a QCOW2 file': (make_wrapped(b'QFI\xfb\0\0\0\3', 'qcow2'), 'qcow2'),
}


@pytest.mark.parametrize('title', SOURCES)
def test_source(title, winch, storage, tmp_path):
    maker, word = SOURCES[title]
    source = maker(str(tmp_path))
    result = winch.migrate(storage, source, DESTINATION, expect=None)
    check_message(result, (6,), word)
    assert storage.bucket().list() == {}, 'something was written for a bad source'


def test_truncated(winch, storage, small):
    os.truncate(small, 9 * MIB)
    check_message(winch.migrate(storage, small, DESTINATION, expect=None), (6,), 'small.img')


def test_volume_larger_than_partition(winch, storage, small, tmp_path):
    """A partition of 8 MiB holds the boot sector of a volume of 16 MiB."""
    disk = str(tmp_path / 'disk.img')
    with open(disk, 'wb') as stream:
        stream.truncate(32 * MIB)
    disks.write_table(disk, 'label: dos\nstart=2048, size=16384, type=7\n')
    disks.put_volume(disk, 2048, small)
    check_message(winch.migrate(storage, disk, DESTINATION, expect=None), (6,), 'disk.img')


@pytest.mark.parametrize('offset,data', (
    (11, b'\x07\x00'), (13, b'\x03'), (48, b'\xff' * 8), (64, b'\x7f'), (40, b'\xff' * 8)),
    ids=('sector size', 'cluster size', '$MFT', 'record size', 'sectors'))
def test_corrupt_boot_sector(offset, data, winch, storage, small):
    spoil(small, offset, data)
    check_message(winch.migrate(storage, small, DESTINATION, expect=None), (6,), 'small.img')


def test_table_of_records_gone(winch, storage, small):
    with open(small, 'rb') as stream:
        boot = stream.read(512)
    spoil(small, struct.unpack_from('<Q', boot, 48)[0] * 4096, bytes(16 * 1024))
    check_message(winch.migrate(storage, small, DESTINATION, expect=None), (6,), 'small.img')


@pytest.mark.parametrize('volume', ('7', 'NOSUCHLABEL'))
def test_no_such_volume(volume, winch, storage, small):
    result = winch.migrate(storage, small, DESTINATION, '--volume', volume, expect=None)
    check_message(result, (2, 6), volume)


# ---- destinations ----------------------------------------------------------------------------

def test_missing_bucket(winch, storage, small):
    result = winch.migrate(storage, small, 'gs://missing-bucket/p', expect=None)
    check_message(result, (5,), 'missing-bucket')


@pytest.mark.parametrize('destination', ('gs://', 'gs:///p', 'bucket/p', 'http://bucket/p',
                                         'gs://UPPER/p', 'gs://b/p', 's3://bucket/p'))
def test_bad_destination(destination, winch, storage, small):
    result = winch.migrate(storage, small, destination, expect=None)
    check_message(result, (2,), 'bucket' if destination.startswith('gs://') else destination)
    assert storage.stats()['requests'] == 0


# ---- the command line ------------------------------------------------------------------------

COMMANDS = {
    'nothing': ([], 'usage'),
    'no such command': (['migrat'], 'migrat'),
    'migrate alone': (['migrate'], 'SOURCE'),
    'no destination': (['migrate', 'IMAGE'], 'gs://'),
    'one too many': (['migrate', 'IMAGE', 'gs://bucket', 'more'], 'more'),
    'no such option': (['migrate', 'IMAGE', 'gs://bucket', '--conections', '4'], '--conections'),
    'no number': (['migrate', 'IMAGE', 'gs://bucket', '--connections', 'many'], '--connections'),
    'out of range': (['migrate', 'IMAGE', 'gs://bucket', '--connections', '0'], '--connections'),
    'no value': (['migrate', 'IMAGE', 'gs://bucket', '--state-dir'], '--state-dir'),
    'no choice': (['migrate', 'IMAGE', 'gs://bucket', '--if-exists', 'perhaps'], '--if-exists'),
    'no size': (['migrate', 'IMAGE', 'gs://bucket', '--part-size', '3X'], '--part-size'),
    'a file that is not there': (
        ['migrate', 'IMAGE', 'gs://bucket', '--exclude-from', '/nonexistent/list'],
        '/nonexistent/list'),
}


@pytest.mark.parametrize('title', COMMANDS)
def test_command_line(title, winch, storage, small):
    arguments, word = COMMANDS[title]
    command = winch.command(*[small if a == 'IMAGE' else a for a in arguments])
    result = winch.run(command, storage)
    assert result.exit == 2, str(result)
    assert word.lower() in (result.err + result.out).lower(), str(result)
    assert storage.stats()['requests'] == 0


def test_all_mistakes_at_once(winch, storage, small):
    result = winch.run(winch.command('migrate', small, 'gs://bucket', '--connections', 'x',
                                     '--if-exists', 'y', '--nonsense'), storage)
    assert result.exit == 2
    for word in ('--connections', '--if-exists', '--nonsense'):
        assert word in result.err, result.err


def test_help_and_version(winch):
    for arguments in (['--help'], ['migrate', '--help'], ['--version']):
        result = winch.run(winch.command(*arguments))
        assert result.exit == 0 and result.out and not result.err, str(result)


# ---- credentials -----------------------------------------------------------------------------

TOKEN = 'the-right-token'


def key_file(folder, token_uri, **changes):
    key = subprocess.run(['openssl', 'genpkey', '-algorithm', 'RSA', '-pkeyopt',
                          'rsa_keygen_bits:2048'], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout.decode()
    content = {'type': 'service_account', 'project_id': 'project', 'private_key_id': 'key1',
               'private_key': key, 'client_email': 'mover@project.iam.gserviceaccount.com',
               'token_uri': token_uri, **changes}
    name = os.path.join(str(folder), 'key.json')
    with open(name, 'w', encoding='utf-8') as stream:
        json.dump(content, stream)
    return name


def run_with_token(winch, storage, image, **environment):
    command = winch.migrate_command(image, DESTINATION)
    return winch.run(command, CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=storage.url, **environment)


def test_token_of_metadata_server(start_storage, winch, small):
    storage = start_storage('--require-token', TOKEN, '--metadata-token', TOKEN)
    result = run_with_token(winch, storage, small,
                            GCE_METADATA_HOST='127.0.0.1:%d' % storage.port)
    assert result.exit == 0, str(result)
    assert storage.stats()['authorized'] > 0
    assert TOKEN not in result.err + result.out


def test_token_of_key_file(start_storage, winch, small, tmp_path):
    storage = start_storage('--require-token', TOKEN, '--metadata-token', TOKEN)
    key = key_file(tmp_path, storage.url + '/token')
    result = run_with_token(winch, storage, small, GOOGLE_APPLICATION_CREDENTIALS=key)
    assert result.exit == 0, str(result)


def test_wrong_token(start_storage, winch, small):
    storage = start_storage('--require-token', TOKEN, '--metadata-token', 'another-token')
    result = run_with_token(winch, storage, small,
                            GCE_METADATA_HOST='127.0.0.1:%d' % storage.port)
    check_message(result, (4,))
    assert 'another-token' not in result.err + result.out
    assert result.seconds < 30


def test_wrong_token_of_key_file(start_storage, winch, small, tmp_path):
    storage = start_storage('--require-token', TOKEN, '--metadata-token', 'another-token')
    key = key_file(tmp_path, storage.url + '/token')
    result = run_with_token(winch, storage, small, GOOGLE_APPLICATION_CREDENTIALS=key)
    check_message(result, (4,))


@pytest.mark.parametrize('changes', (
    {'type': 'authorized_user'}, {'private_key': 'no key'}, {'client_email': ''},
    {'token_uri': 'http://example.com/token'}), ids=lambda changes: ','.join(changes))
def test_bad_key_file(changes, start_storage, winch, small, tmp_path):
    storage = start_storage('--require-token', TOKEN)
    changes = dict(changes)
    uri = changes.pop('token_uri', storage.url + '/token')
    key = key_file(tmp_path, uri, **changes)
    result = run_with_token(winch, storage, small, GOOGLE_APPLICATION_CREDENTIALS=key)
    check_message(result, (4,), 'key.json')
    assert storage.stats()['authorized'] == 0


def test_missing_key_file(storage, winch, small):
    result = run_with_token(winch, storage, small,
                            GOOGLE_APPLICATION_CREDENTIALS='/nonexistent/key.json')
    check_message(result, (4,), '/nonexistent/key.json')


def test_emulator_gets_no_token(storage, winch, small, tmp_path):
    key = key_file(tmp_path, storage.url + '/token')
    winch.migrate(storage, small, DESTINATION, GOOGLE_APPLICATION_CREDENTIALS=key)
    assert storage.stats()['authorized'] == 0


def test_token_never_goes_over_plain_http(winch, small, tmp_path):
    """An override that is neither https nor this machine is refused before anything is sent."""
    key = key_file(tmp_path, 'https://127.0.0.1:1/token')
    result = winch.run(winch.migrate_command(small, DESTINATION, '--give-up', '2s'),
                       CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE='http://192.0.2.1:9',
                       GOOGLE_APPLICATION_CREDENTIALS=key)
    check_message(result, (2, 4), 'CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE')
    assert result.seconds < 10


# ---- the state folder ------------------------------------------------------------------------

def test_full_state_folder(winch, storage, images, tmp_path):
    if os.geteuid() != 0:
        pytest.skip('a small file system needs root')
    image = images.get('move', *MOVE)
    folder = str(tmp_path / 'tiny')
    os.mkdir(folder)
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', folder],
                          check=False, stderr=subprocess.PIPE)
    if done.returncode:
        pytest.skip('cannot mount a tmpfs here')
    try:
        small_winch = Winch(winch.program, folder)
        result = small_winch.migrate(storage, image, DESTINATION, expect=None)
        check_message(result, (75,), folder)
    finally:
        subprocess.run(['umount', folder], check=True)


def test_state_folder_of_somebody_else(winch, storage, small):
    """As nobody, into a folder of root."""
    if os.geteuid() != 0 or shutil.which('setpriv') is None:
        pytest.skip('taking another user needs root and setpriv')
    with tempfile.TemporaryDirectory(prefix='winch-nobody-') as folder:
        os.chmod(folder, 0o755)
        image = os.path.join(folder, 'small.img')
        shutil.copyfile(small, image)
        program = os.path.join(folder, 'winch')
        shutil.copy(winch.program, program)
        state = os.path.join(folder, 'state')
        os.mkdir(state, 0o700)
        command = Winch(program, state).migrate_command(image, DESTINATION)
        result = winch.run(['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY),
                            '--clear-groups', *command], storage)
        check_message(result, (1, 2, 4, 75), state)
        assert storage.bucket().list() == {}


def test_second_run_at_the_same_time(winch, new_winch, storage, small):
    """One state folder and one destination have one run at a time."""
    storage.hold(method='POST', name_contains='/run.json', when='before')
    running = winch.start(storage, small, DESTINATION)
    try:
        assert storage.wait_until(lambda s: s['held'] >= 1, 30, running.alive), running.output()
        result = winch.migrate(storage, small, DESTINATION, expect=None)
        check_message(result, (11,))
    finally:
        storage.release()
    assert running.wait(60) == 0, running.output()
