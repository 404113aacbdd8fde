# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of other readers have reported: the same disks, and the right outcome.

docs/ntfs-support.md lists the reports with their tests; those that other suites have are not
repeated here.
"""
import base64
import csv
import datetime
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import time

import pytest

import contents
import expectation
import names
import ntfs_image
import odd_volumes
import test_images
from comparing import Comparison, check_counts
from conftest import INTEGRATION_FIXTURES
from local_storage import BUCKET, LocalStorage
from manifest import Manifest
from migrated import unescape
from winch_program import Winch

MIB = 1 << 20
PREFIX = 'p/'


class Run:
    """A finished migration: its result, manifest, lines by path, and bucket."""

    def __init__(self, winch, storage, image, *options, expect=3):
        self.result = winch.migrate(storage, image, 'gs://%s/p' % BUCKET, '--no-default-excludes',
                                    *options, expect=expect)
        self.bucket = storage.bucket()
        self.manifest = Manifest(self.bucket, 'p')
        self.lines = self.manifest.by_path()
        self.objects = self.bucket.list(PREFIX)

    def check_rows(self, rows):
        Comparison(self.bucket, self.manifest, 'p').compare(rows).assert_equal()
        check_counts(self.result, self.manifest)

    def check_failed(self, path, reason, words):
        """Named with its reason and a sentence, and nothing of it in the bucket."""
        line = self.lines[path]
        assert (line['state'], line['reason']) == ('failed', reason), line
        assert words in line['error'], line
        assert 'name' not in line and 'generation' not in line, line
        assert PREFIX + path not in self.objects


@pytest.fixture(scope='module', name='kinds')
def fixture_kinds(images, tmp_path_factory):
    image = images.get('kinds')
    storage = LocalStorage(INTEGRATION_FIXTURES.binary('FAKE_GCS', 'fake-gcs'))
    winch = Winch(INTEGRATION_FIXTURES.binary('WINCH', 'winch'), tmp_path_factory.mktemp('state'))
    run = Run(winch, storage, image)
    run.rows = {(row.path.decode('utf-8', 'surrogatepass'), row.stream): row
                for row in images.rows('kinds')}
    yield run
    assert storage.stop()


def test_compact_os_is_decoded(kinds):
    """fox-it/dissect.ntfs#41, ebiggers/ntfs-3g-system-compression#6, teamdfir/sift#240: CompactOS
    files read as zeros, or not at all."""
    paths = [path for path, stream in kinds.rows if path.startswith('wof/') and not stream]
    files = [path for path in paths if path.endswith('.bin')]
    if not files:
        pytest.skip('the image has no CompactOS files: libwim15 is not installed')
    assert len(files) == 28
    for path in files:
        data = kinds.bucket.get(PREFIX + path)
        assert hashlib.sha256(data).hexdigest() == kinds.rows[path, b''].sha256, path
        assert data.count(0) != len(data), path


def test_folder_of_one_drive(kinds):
    """tuxera/ntfs-3g#44: a OneDrive folder whose files are all local shows as a broken link."""
    folder = kinds.lines['reparse/OneDrive']
    assert (folder['state'], folder['reparse_tag']) == ('directory', '0x9000701a'), folder
    assert kinds.bucket.get(PREFIX + 'reparse/OneDrive/inside.txt') == b'inside a cloud folder'
    assert kinds.bucket.get(PREFIX + 'reparse/local.docx') == b'all of it stands here'


def test_online_only_file(kinds):
    """restic/restic#3697, restic/restic#2158: files that are only online break a backup, or are
    missing from it for years, unnoticed."""
    kinds.check_failed('reparse/cloud.docx', 'cloud-placeholder', 'on this disk')
    assert kinds.result.exit == 3
    assert kinds.result.json['reasons']['cloud-placeholder'] == 1


def test_deduplicated_file(kinds):
    """fox-it/dissect.ntfs#33, microsoft/Windows-Containers#185: deduplicated files have a size and
    no data, or are "corrupted"; uroni/urbackup_backend#141: restored, they were unreadable."""
    kinds.check_failed('reparse/dedup.bin', 'dedup', '')
    assert kinds.result.json['reasons']['dedup'] == 1


def test_single_instance_storage(kinds):
    """golang/go#66031, restic/restic#4704: old SIS files are skipped as "irregular"."""
    kinds.check_failed('reparse/sis.bin', 'reparse-unsupported', 'Single Instance Storage')


def test_links_are_not_followed(kinds):
    """gurnec/HashCheck#30, golang/go#10424, logpresso/CVE-2021-44228-Scanner#110: the junction
    "Application Data" leads back to its own folder, without an end."""
    for name in ('loop', 'junction', 'mount-point', 'folder-link'):
        line = kinds.lines['reparse/' + name]
        assert line['state'] == 'link' and line['reparse'], line
        below = 'reparse/%s/' % name
        assert not [path for path in kinds.lines if path.startswith(below)]
        assert not [path for path in kinds.objects if path.startswith(PREFIX + below)]


def test_link_of_linux_stays_a_link(kinds):
    """The kernel's or ntfs-3g's link to /etc/passwd would be the passwd of this machine."""
    assert kinds.lines['reparse/linux']['state'] == 'link'
    assert PREFIX + 'reparse/linux' not in kinds.objects


def test_half_pairs_and_line_ends(kinds):
    """sleuthkit/sleuthkit#2837, sleuthkit/sleuthkit#2838, golang/go#32334, maharmstone/ntfs2btrfs
    #12: names with half of a surrogate pair are lost, or end the program."""
    for name in (b'lone\xed\xa0\x80surrogate', b'new\nline', b'carriage\rreturn'):
        line = kinds.lines[names.path(b'names/' + name)]
        assert line['state'] == 'uploaded'
        assert unescape(line['path']) == b'names/' + name
        line['name'].encode('utf-8')


def test_long_path(kinds):
    """hashicorp/vault#18248, rclone/rclone#3884: an object name of more than 1,024 bytes."""
    long_paths = [path for path in kinds.lines
                  if path.startswith('deep/') and len(path) > 1100 and path.endswith('leaf.txt')]
    assert long_paths
    for path in long_paths:
        name = kinds.lines[path]['name']
        assert len(name.encode()) <= 1024 and name in kinds.objects
        assert name == names.object_name(path, 'p')


def test_twins_by_case(kinds):
    """syncthing/syncthing#5621, bcpierce00/unison#1054: names that differ in case alone clash."""
    assert kinds.bucket.get(PREFIX + 'names/Case') == b'content 5'
    assert kinds.bucket.get(PREFIX + 'names/case') == b'content 6'


def test_brackets(kinds):
    """GoogleCloudPlatform/gsutil#395: brackets in a name are taken for a pattern."""
    assert kinds.lines['names/[brackets]*']['name'] == PREFIX + 'names/[brackets]*'


def test_colon_and_all_that_is_no_name(odd_volume, winch, storage):
    """GoogleCloudPlatform/gsutil#1790: a colon in a name. Beside it: `/`, U+0000, `..`, halves of
    pairs, which NTFS holds in the POSIX name space. Each comes back exactly by its escape."""
    run = Run(winch, storage, odd_volume('odd-names'), expect=0)
    wanted = {new.encode('utf-8', 'surrogatepass'): b'odd name %d' % number * 50
              for number, (_, new) in enumerate(odd_volumes.NAMES)}
    wanted[b'ordinary.txt'] = b'an ordinary name'
    found = {unescape(line['path']): run.bucket.get(line['name'])
             for line in run.lines.values() if line['state'] == 'uploaded'}
    assert found == wanted
    for escaped in ('co%u003Alon', 'slash%u002F\\%u003Aname', 'nul%u0000a%u0000name', '%u002E.',
                    '..%u002F..%u002Fetc', 'hig%uD800x'):
        assert run.lines[escaped]['name'] == PREFIX + escaped


@pytest.mark.parametrize('name,key', (('dirty', 'dirty'), ('hibernated', 'hibernated'),
                                      ('mirror', 'mirror_differs')))
def test_state_stands_in_the_run(name, key, images, winch, storage):
    """rescuezilla/rescuezilla#254, redorescue/redorescue#74, stevenshiau/clonezilla#75: a
    hibernated or dirty volume is refused; Thomas-Tsai/partclone#79: or taken without notice."""
    run = Run(winch, storage, images.get(name, 'state'), expect=0)
    state = run.manifest.run_json['volumes'][0]
    assert state[key] is True, state
    others = {'dirty', 'hibernated', 'mirror_differs'} - {key}
    assert not any(state[other] for other in others), state
    run.check_rows(images.rows(name))


def test_metadata_in_the_cache(images, shared_images, winch, storage, tmp_path):
    """tuxera/ntfs-3g#34, tuxera/ntfs-3g#118: "Metadata kept in Windows cache, refused to mount"."""
    image = str(tmp_path / 'cached.img')
    shutil.copyfile(images.get('valid'), image)
    log = tmp_path / 'LogFile'
    with lzma.open(os.path.join(shared_images, 'dfir_ntfs', 'LogFile_10.bin.xz')) as packed:
        log.write_bytes(packed.read())
    ntfs_image.run('ntfscp', '-i', '-f', image, log, '2')
    run = Run(winch, storage, image, expect=0)
    assert run.manifest.run_json['volumes'][0]['metadata_cached'] is True
    assert 'kept metadata in its cache' in str(run.result.json['warnings'])
    run.check_rows(images.rows('valid'))


def test_one_broken_attribute_list(odd_volume, images, winch, storage):
    """libyal/libfsntfs#35: one bad attribute list, and the whole volume does not open."""
    run = Run(winch, storage, odd_volume('bad-list'))
    run.check_failed('broken.bin', 'bad-record', 'pieces are missing')
    run.check_rows(images.rows('bad-list'))
    assert run.result.json['failed'] == 1


def test_facts(kinds):
    """What a restore needs beside content, byte for byte as it was put there."""
    line = kinds.lines['ea.txt']
    assert line['object_id'] == bytes(range(16)).hex()
    assert base64.b64decode(line['ea']) == contents.extended_attributes(
        [(b'WINCH.TEST', b'hello'), (b'$LXMOD', struct.pack('<I', 0o100644))])
    assert kinds.lines['hidden.sys']['attributes'] & 0x27 == 0x26
    assert kinds.lines['names/long file name.txt']['short_name'] == 'LONGFI~1.TXT'


def read_times(shared, volume):
    """{path: {field: 100 ns since 1601}} as $STANDARD_INFORMATION has them."""
    name = os.path.join(shared, 'expected', volume + '.times.tsv')
    with open(name, encoding='utf-8') as stream:
        return {row['path']: row for row in csv.DictReader(stream, delimiter='\t')
                if row['source'] == 'standard_information'}


def ticks(text):
    """100 ns since 1601 of a time in the manifest."""
    whole, _, part = text.rstrip('Z').partition('.')
    moment = datetime.datetime.fromisoformat(whole) - datetime.datetime(1601, 1, 1)
    return (moment.days * 86400 + moment.seconds) * 10**7 + int((part or '0').ljust(7, '0'))


@pytest.mark.parametrize('volume', ('ntfs-si-vs-fn-p1', 'ntfs-lastaccess-p1'))
def test_times_of_windows(volume, shared_images, winch, storage, tmp_path):
    """Three places hold times: those of the record itself are the right ones."""
    row = test_images.volume_table(shared_images)[volume]
    image = test_images.unpack(shared_images, row['image'], str(tmp_path))
    run = Run(winch, storage, image, '--volume', '1', expect=0)
    times = read_times(shared_images, volume)
    assert times
    for path, wanted in times.items():
        line = run.lines[path]
        for key, column in (('created', 'created'), ('mtime', 'modified'),
                            ('changed', 'mft_modified'), ('atime', 'accessed')):
            assert ticks(line[key]) == int(wanted[column]), (path, key, line[key])


@pytest.fixture(name='bad_disk')
def fixture_bad_disk(tmp_path):
    """(disk, rows): 4 KiB in the middle of one file cannot be read."""
    missing = ntfs_image.why_no_mount() or next(
        ('bad sectors need ' + name for name in ('nbdkit', 'nbdfuse', 'fusermount')
         if not ntfs_image.find_program(name)), None)
    if missing:
        pytest.skip(missing)
    image = str(tmp_path / 'image')
    ntfs_image.make_volume(image, 32 * MIB, 'BADSECTOR')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        for number, name in enumerate(('before.bin', 'torn.bin', 'behind.bin')):
            tree.file(name, contents.noise(900 + number, 200000),
                      'bad-sector' if name == 'torn.bin' else 'data')
    with open(image, 'rb') as stream:
        data = stream.read()
    bad = data.index(contents.noise(901, 200000)[:4096]) + 40960
    chart = tmp_path / 'map'
    chart.write_text('0x0 ? 1\n0x0 %#x +\n%#x 0x1000 -\n%#x %#x +\n' % (
        bad, bad, bad + 4096, len(data) - bad - 4096))
    mount = tmp_path / 'mount'
    mount.mkdir()
    disk = mount / 'disk.img'
    server = subprocess.Popen(
        ['nbdfuse', '-r', disk, '[', 'nbdkit', '--exit-with-parent', '--filter=ddrescue', 'file',
         image, 'ddrescue-mapfile=%s' % chart, ']'],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 20
    while not disk.exists() and server.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    assert disk.exists(), 'nbdfuse does not show the disk'
    yield disk, tree.rows
    ntfs_image.run('fusermount', '-u', mount)
    server.wait(30)


def test_bad_sectors(bad_disk, winch, storage):
    """Thomas-Tsai/partclone#273, rescuezilla/rescuezilla#114: bad sectors end it all at 30 %, or
    after hours. One file fails, by name and place, and never as zeros."""
    disk, rows = bad_disk
    run = Run(winch, storage, disk)
    run.check_failed('torn.bin', 'bad-sector', 'cannot read at byte')
    run.check_rows(rows)
    assert run.result.json['reasons'] == {'bad-sector': 1}
