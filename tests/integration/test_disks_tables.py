# SPDX-License-Identifier: GPL-3.0-or-later
"""What a migration makes of broken tables: nothing is left out with exit code 0, nothing hangs, and
the volume that is taken is the one that the table means."""
import json
import os
import struct

import pytest

import disk_kinds
import disk_tables
import disks
import ntfs_image
from disk_kinds import mbr_entry
from local_storage import DESTINATION

MIB = 1 << 20
SECTOR = 512
SIGNATURE = (510, b'\x55\xaa')
VOLUME_SECTORS = 32768
DISK_SECTORS = 98304


def put_volume(path, first, label):
    volume = path + '.volume'
    ntfs_image.make_volume(volume, VOLUME_SECTORS * SECTOR, label, first_sector=first)
    disks.put_volume(path, first, volume)


def make_mbr_disk(path, *pieces):
    """Partition 1 is an NTFS volume; the pieces make the rest."""
    disk_kinds.empty(path, DISK_SECTORS * SECTOR)
    put_volume(path, 2048, 'DATA')
    disk_kinds.patch(path, *mbr_entry(0, 7, 2048, VOLUME_SECTORS), SIGNATURE, *pieces)


def link(at, next_at, base):
    """A sector of the chain at `at`, with a partition and the way to `next_at`, or none."""
    pieces = mbr_entry(0, 7, 8, 8)
    if next_at is not None:
        pieces += mbr_entry(1, 5, next_at - base, 16)
    return tuple((at * SECTOR + offset, data) for offset, data in pieces + (SIGNATURE,))


def linux_swap(path):
    disk_kinds.patch(path, (40000 * SECTOR + 4086, b'SWAPSPACE2'),
                     (40000 * SECTOR + 1024, struct.pack('<II', 1, 100)))


EXTENDED = mbr_entry(1, 5, 40000, 20000)
BROKEN = {
    'no-length': mbr_entry(2, 7, 40000, 0),
    'no-place': mbr_entry(2, 7, 0, 500),
    'chain-to-nothing': EXTENDED + link(40000, 50000, 40000),
    'chain-in-a-circle': EXTENDED + link(40000, 50000, 40000) + link(50000, 40000, 40000),
    'chain-out-of-the-disk': EXTENDED + link(40000, 4000000, 40000),
    'chain-without-a-start': EXTENDED,
}


@pytest.mark.parametrize('choice', ((), ('--volume', 'all')), ids=('default', 'all'))
@pytest.mark.parametrize('case', sorted(BROKEN))
def test_broken_is_not_clean(case, choice, winch, storage, tmp_path):
    path = str(tmp_path / 'disk.img')
    make_mbr_disk(path, *BROKEN[case])
    result = winch.migrate(storage, path, DESTINATION, *choice, expect=3)
    assert 'NOT taken, not found' in result.err, result.err
    listed = json.loads(winch.run(winch.command('disks', '--json', path)).out)['disks'][0]
    lost = [one for one in listed['partitions']
            if one['kind'] in ('impossible', 'lost-chain') and one['advice']]
    assert len(lost) == 1, listed
    assert lost[0]['advice'] in ' '.join(winch.run(winch.command('disks', path)).out.split())


def test_broken_beside_a_named_one(winch, storage, tmp_path):
    path = str(tmp_path / 'disk.img')
    make_mbr_disk(path, *BROKEN['chain-to-nothing'])
    winch.migrate(storage, path, DESTINATION, '--volume', '1')


def test_whole_chain_is_clean(winch, storage, tmp_path):
    """Its partitions were never formatted, so nothing can be lost."""
    path = str(tmp_path / 'disk.img')
    make_mbr_disk(path, *(EXTENDED + link(40000, 50000, 40000) + link(50000, None, 40000)))
    winch.migrate(storage, path, DESTINATION)


def test_many_are_not_clean(winch, storage, tmp_path):
    path = str(tmp_path / 'disk.img')
    chain = ()
    for at in range(40000, 40000 + 300 * 16, 16):
        chain += link(at, at + 16, 40000)
    make_mbr_disk(path, *(EXTENDED + chain + link(44800, None, 40000)))
    result = winch.migrate(storage, path, DESTINATION, expect=3)
    assert 'more than 256 partitions' in result.err, result.err


def test_what_holds_no_files_is_clean(winch, storage, tmp_path):
    path = str(tmp_path / 'mbr.img')
    make_mbr_disk(path, *mbr_entry(1, 0x82, 40000, 8192))
    linux_swap(path)
    winch.migrate(storage, path, DESTINATION + '/mbr')

    path = str(tmp_path / 'gpt.img')
    disk_kinds.empty(path, DISK_SECTORS * SECTOR)
    disks.write_table(path, 'label: gpt\n' + ''.join(
        'start=%d, size=%d, type=%s\n' % row for row in (
            (2048, VOLUME_SECTORS, disks.DATA), (36864, 2048, disk_kinds.BIOS_BOOT),
            (38912, 1088, disks.RESERVED),
            (40000, 8192, '0657FD6D-A4AB-43C4-84E5-0933C84B4F4F'))))
    put_volume(path, 2048, 'DATA')
    disk_kinds.patch(path, (36864 * SECTOR, b'RV\xbe\x1b'), (38912 * SECTOR, b'anything'))
    linux_swap(path)
    winch.migrate(storage, path, DESTINATION + '/gpt')


@pytest.mark.parametrize('old', ('NTFS', 'FAT'))
def test_old_volume_over_the_disk(old, winch, storage, tmp_path):
    """The disk was one volume before it was partitioned; of NTFS all is there still."""
    path = str(tmp_path / 'disk.img')
    disk_kinds.empty(path, DISK_SECTORS * SECTOR)
    if old == 'NTFS':
        volume = str(tmp_path / 'old.img')
        ntfs_image.make_volume(volume, DISK_SECTORS * SECTOR, 'OLD')
        ntfs_image.copy_sparse(volume, path, 0)
        # As a boot sector without boot code: partition tools write these bytes.
        disk_kinds.patch(path, (440, bytes(70)))
    else:
        disk_kinds.patch(path, (0, disks.fat_boot_sector(65535)))
    put_volume(path, 36864, 'NEW')
    disk_kinds.patch(path, *mbr_entry(0, 7, 36864, VOLUME_SECTORS), SIGNATURE)
    result = winch.migrate(storage, path, DESTINATION)
    assert 'an old %s boot sector' % old in result.err, result.err
    listed = json.loads(winch.run(winch.command('disks', '--json', path)).out)['disks'][0]
    assert [one['label'] for one in listed['partitions']] == ['NEW'], listed


@pytest.mark.parametrize('links', (10000, 200000))
def test_hostile_chain_is_quick(links, winch, tmp_path):
    path = str(tmp_path / 'chain.img')
    start, step = 2048, 16
    end = start + step * (links + 1)
    sector = bytearray(SECTOR)
    sector[450], sector[466], sector[510:] = 7, 5, b'\x55\xaa'
    struct.pack_into('<II', sector, 454, 8, 8)
    disk_kinds.empty(path, (end + 1) * SECTOR)
    disk_kinds.patch(path, *mbr_entry(0, 5, start, end - start), SIGNATURE)
    with open(path, 'r+b') as stream:
        for i in range(links):
            struct.pack_into('<II', sector, 470, step * (i + 1), step)
            stream.seek((start + step * i) * SECTOR)
            stream.write(sector)
    result = winch.run(winch.command('disks', '--json', path), timeout=5)
    assert result.exit == 0, str(result)
    assert len(json.loads(result.out)['disks'][0]['partitions']) == 257


@pytest.fixture(name='labelled')
def fixture_labelled(tmp_path):
    path = str(tmp_path / 'labels.img')
    disk_kinds.empty(path, DISK_SECTORS * SECTOR)
    disks.write_table(path, 'label: gpt\n' + ''.join(
        'start=%d, size=%d, type=%s\n' % (at, VOLUME_SECTORS, disks.DATA)
        for at in (2048, 2048 + VOLUME_SECTORS)))
    put_volume(path, 2048, '\u00c4rzte \u0416\u03a3')
    put_volume(path, 2048 + VOLUME_SECTORS, 'D:')
    return path


@pytest.mark.parametrize('wanted', ('\u00e4RZTE \u0436\u03c2', '\u00c4rzte \u0416\u03a3',
                                    'label:d:'))
def test_label_in_another_case(wanted, labelled, winch, storage):
    winch.migrate(storage, labelled, DESTINATION, '--volume', wanted)


@pytest.mark.parametrize('wanted', ('D:', 'd:', 'C:\\'))
def test_drive_letter(wanted, labelled, winch, storage):
    result = winch.migrate(storage, labelled, DESTINATION, '--volume', wanted, expect=2)
    assert 'drive letters' in result.err and '1 "\u00c4rzte' in result.err, result.err
    assert '2 "D:"' in result.err and 'winch disks' in result.err, result.err


def test_sectors_of_4096_without_the_first_gpt(winch, tmp_path):
    """The backup in the last sector tells the sector size of an image."""
    path = str(tmp_path / 'large.img')
    disk_kinds.empty(path, 64 * MIB)
    disks.write_table(path, 'label: gpt\nstart=256, size=4096, type=%s\n' % disks.DATA, 4096)
    disk_kinds.patch(path, (4096, bytes(4096)))
    listed = json.loads(winch.run(winch.command('disks', '--json', path)).out)['disks'][0]
    assert listed['sector'] == 4096 and listed['table'] == 'gpt', listed
    assert listed['partitions'][0]['offset'] == 256 * 4096, listed


def test_enlarged_by_whole_gib(winch, tmp_path):
    """Nothing tells where the backup is but that a cloud disk ends at a whole GiB."""
    path = str(tmp_path / 'enlarged.img')
    disk_tables.gpt_disk(path, sectors=(1 << 30) // SECTOR)
    disk_kinds.patch(path, (SECTOR, bytes(SECTOR)), (446 + 12, b'\xff' * 4))
    os.truncate(path, 5 << 30)
    listed = json.loads(winch.run(winch.command('disks', '--json', path)).out)['disks'][0]
    assert len(listed['partitions']) == 2, listed
    assert any('enlarged' in warning for warning in listed['warnings']), listed
