# SPDX-License-Identifier: GPL-3.0-or-later
"""What `winch disks` says about every kind of disk is what docs/disks.md says."""
import json
import os
import re
import struct
import subprocess

import pytest

import disk_kinds
import disk_tables
import disks
import ntfs_image
from local_storage import BUCKET, DESTINATION
from manifest import Manifest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
SECTOR = 512
# Reads must fail for the one; the list of the other is too long for one message.
UNIT_TESTED = {'unreadable', 'left-out'}


def doc_table(first_cell):
    """Rows of the table in docs/disks.md whose heading begins with `first_cell`."""
    with open(os.path.join(TOP, 'docs', 'disks.md'), encoding='utf-8') as stream:
        lines = stream.read().split('\n')
    start = next(i for i, line in enumerate(lines) if line.startswith('| %s |' % first_cell)) + 2
    rows = {}
    for line in lines[start:]:
        if not line.startswith('|'):
            break
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        rows[cells[0].strip('`')] = cells[1:]
    return rows


KINDS = doc_table('kind')
TABLES = doc_table('case')


def look(winch, *paths, expect=0):
    result = winch.run(winch.command('disks', '--json', *paths))
    assert result.exit == expect, str(result)
    return json.loads(result.out)['disks']


def make(kind, tmp_path):
    path = str(tmp_path / kind)
    try:
        disk_kinds.MAKERS[kind](path)
    except ntfs_image.CannotMake as error:
        pytest.skip(str(error))
    return path


def test_all_are_documented():
    with open(os.path.join(TOP, 'imager', 'disk', 'kinds.c'), encoding='utf-8') as stream:
        codes = re.findall(r'^    \{"([^"]+)", DISK_', stream.read(), re.M)
    assert len(codes) > 40
    assert set(codes) == set(KINDS), set(codes) ^ set(KINDS)
    assert set(disk_kinds.MAKERS) == set(KINDS) - UNIT_TESTED


@pytest.mark.parametrize('kind', sorted(disk_kinds.MAKERS))
def test_kind(kind, winch, storage, tmp_path):
    """Name and advice as documented, for people, as JSON and as the refusal of a migration."""
    path = make(kind, tmp_path)
    printed, advice = KINDS[kind]
    entry = look(winch, path)[0]
    found = [one for one in entry['partitions'] if one['kind'] == kind]
    assert len(found) == 1, entry
    partition = found[0]
    if kind not in ('other', 'raid'):
        assert partition['content'] == printed
    shown = path if len(path) <= 64 else 'FILE'
    assert partition['advice'].replace(shown, 'FILE') == advice
    text = winch.run(winch.command('disks', path)).out
    assert partition['content'] in text
    for line in text.split('\n')[1:]:
        assert len(line) < 80 or "'" in line, line
    assert ' '.join(partition['advice'].split()) in ' '.join(text.split())
    if kind == 'ntfs':
        assert (partition['label'], partition['state']) == ('LABEL', 'clean'), partition
        return
    result = winch.migrate(storage, path, DESTINATION, expect=6)
    assert partition['content'] in result.err, result.err
    assert partition['advice'] in result.err, result.err


@pytest.mark.parametrize('case', sorted(disk_tables.MAKERS))
def test_table(case, winch, tmp_path):
    maker, count = disk_tables.MAKERS[case]
    path = str(tmp_path / case)
    maker(path)
    entry = look(winch, path)[0]
    assert any(warning.startswith(TABLES[case][0]) for warning in entry['warnings']), entry
    numbered = [one for one in entry['partitions'] if one['number'] > 0 or count == 1]
    assert len(numbered) == count, entry


def test_every_warning_is_tested():
    assert set(TABLES) == set(disk_tables.MAKERS)


def test_extended_chain_that_loops(winch, tmp_path):
    """Each link points to the next, and the last to the first."""
    path = str(tmp_path / 'loop')
    disk_kinds.empty(path, 16 * MIB)
    start, links = 2048, 40
    disk_kinds.patch(path, (446 + 4, b'\x05'), (446 + 8, struct.pack('<II', start, 30000)),
                     (510, b'\x55\xaa'))
    for i in range(links):
        here = (start + 64 * i) * SECTOR
        disk_kinds.patch(
            path, (here + 446 + 4, b'\x07'), (here + 446 + 8, struct.pack('<II', 8, 40)),
            (here + 462 + 4, b'\x05'),
            (here + 462 + 8, struct.pack('<II', 64 * ((i + 1) % links), 64)),
            (here + 510, b'\x55\xaa'))
    entry = look(winch, path)[0]
    numbers = [one['number'] for one in entry['partitions']]
    assert numbers and numbers[0] == 5 and len(numbers) <= 256, entry


SHARED_KINDS = (('cryptsetup', 'bitlk-images.tar.xz', 'bitlocker.tsv', 'bitlocker'),
                ('libldm', 'ldm-data.tar.xz', 'ldm-volumes.tsv', 'ldm'))


@pytest.mark.parametrize('folder,archive,facts,kind', SHARED_KINDS, ids=('BitLocker', 'LDM'))
def test_disks_of_windows(folder, archive, facts, kind, shared_images, winch, tmp_path):
    subprocess.run(['tar', 'xSf', os.path.join(shared_images, folder, archive), '-C',
                    str(tmp_path)], check=True)
    with open(os.path.join(shared_images, 'expected', facts), encoding='utf-8') as stream:
        rows = [line.rstrip('\n').split('\t') for line in stream]
    column = rows[0].index('image')
    wanted = {row[column] for row in rows[1:]}
    met = set()
    for root, _, names in os.walk(str(tmp_path)):
        for name in wanted.intersection(names):
            entry = look(winch, os.path.join(root, name))[0]
            assert any(one['kind'] == kind for one in entry['partitions']), (name, entry)
            assert not any(one['kind'] == 'ntfs' for one in entry['partitions']), (name, entry)
            met.add(name)
    assert met == wanted


@pytest.fixture(name='two_volumes')
def fixture_two_volumes(tmp_path):
    """Labels that ask for trouble: one is a number, two differ in case, two are the same."""
    path = str(tmp_path / 'labels.img')
    labels = ('2', 'Data', 'DATA', 'twice', 'twice')
    with open(path, 'wb') as stream:
        stream.truncate(96 * MIB)
    disks.write_table(path, 'label: gpt\n' + ''.join(
        'start=%d, size=32768, type=%s\n' % (2048 + 34816 * i, disks.DATA)
        for i in range(len(labels))))
    for i, label in enumerate(labels):
        volume = str(tmp_path / 'volume.img')
        ntfs_image.make_volume(volume, 32768 * SECTOR, label, first_sector=2048 + 34816 * i)
        disks.put_volume(path, 2048 + 34816 * i, volume)
    return path


@pytest.mark.parametrize('wanted,code,number', (
    ('2', 0, 2), ('p2', 0, 2), ('label:2', 0, 1), ('Data', 0, 2), ('DATA', 0, 3),
    ('label:data', 2, 0), ('twice', 2, 0), ('TWICE', 2, 0), ('5', 0, 5), ('6', 6, 0),
    ('nothing', 6, 0), ('label:', 6, 0),
), ids=str)
def test_choice(wanted, code, number, two_volumes, winch, storage):
    result = winch.migrate(storage, two_volumes, 'gs://%s/p' % BUCKET, '--volume', wanted,
                           expect=code)
    if code == 0:
        lines = Manifest(storage.bucket(), 'p').lines
        assert {line['volume'] for line in lines} == {'p%d' % number}
    elif code == 2:
        assert 'more than one partition' in result.err and 'number' in result.err, result.err
    else:
        assert 'no volume' in result.err and 'winch disks' in result.err, result.err
