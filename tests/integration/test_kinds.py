# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of content, geometry and state, on images of our own."""
import hashlib

import pytest

from comparing import Comparison, check_counts
from local_storage import BUCKET, DESTINATION
from manifest import Manifest

CLUSTERS = (512, 1024, 2048, 8192, 65536, 131072, 2097152)


def migrate(winch, storage, image, *options, prefix='p', expect=0):
    result = winch.migrate(storage, image, 'gs://%s/%s' % (BUCKET, prefix), *options, expect=expect)
    return result, Manifest(storage.bucket(), prefix)


def compare(winch, storage, image, rows, *options, expect=0):
    result, manifest = migrate(winch, storage, image, *options, expect=expect)
    Comparison(storage.bucket(), manifest, 'p').compare(rows).assert_equal()
    check_counts(result, manifest)
    return result, manifest


def test_kinds(winch, storage, images):
    image = images.get('kinds')
    rows = images.rows('kinds')
    result, manifest = compare(winch, storage, image, rows, '--no-default-excludes', expect=3)
    reasons = result.json['reasons']
    assert reasons['dedup'] == 1 and reasons['cloud-placeholder'] == 1, reasons
    line = manifest.by_path()['ea.txt']
    assert any('WINCH.TEST' in str(v) or v for k, v in line.items() if k.startswith('ea')), line
    assert manifest.security, 'no security descriptors'
    inline = manifest.inline_streams(manifest.by_path()['streams/file.txt'])
    assert len(inline['at-the-limit']) == 4096 and 'over-the-limit' not in inline


def test_default_excludes(winch, storage, images):
    image = images.get('kinds')
    _, manifest = migrate(winch, storage, image, expect=3)
    lines = manifest.by_path()
    for path in ('System Volume Information/tracking.log', 'pagefile.sys'):
        assert (lines[path]['state'], lines[path]['reason']) == ('excluded', 'excluded'), path
        assert 'p/' + path not in storage.bucket().list('p/')


def test_accept(winch, storage, images):
    image = images.get('kinds')
    result, manifest = migrate(winch, storage, image, '--accept',
                               'dedup,cloud-placeholder,reparse-unsupported,wof-bad-chunk')
    assert result.json['accepted'] == result.json['failed'] >= 7, result.json
    check_counts(result, manifest)


def test_streams_as_objects(winch, storage, images):
    image = images.get('kinds')
    rows = [row for row in images.rows('kinds')]
    _, manifest = compare(winch, storage, image, rows, '--no-default-excludes', '--streams',
                          'objects', expect=3)
    assert not any(line.get('streams') for line in manifest.lines)
    assert ('streams/file.txt', 'Zone.Identifier') in manifest.stream_lines()


def test_no_streams(winch, storage, images):
    image = images.get('kinds')
    _, manifest = migrate(winch, storage, image, '--streams', 'none', expect=3)
    names = storage.bucket().list('p/')
    assert not any('/.winch/streams/' in name for name in names)


def test_valid_length(winch, storage, images):
    """Bytes behind the valid length are zeros, not what somebody else deleted."""
    compare(winch, storage, images.get('valid'), images.rows('valid'))


def test_encrypted(winch, storage, images):
    result, _ = compare(winch, storage, images.get('efs'), images.rows('efs'), expect=3)
    assert result.json['reasons'] == {'efs': 1}, result.json


def test_fragmented_table(winch, storage, images):
    compare(winch, storage, images.get('table'), images.rows('table'))


def test_damaged(winch, storage, images):
    """A torn index block costs nothing; a torn record costs that one file, by record number."""
    image = images.get('damaged')
    rows = [row for row in images.rows('damaged') if row.want != 'bad-record']
    result, manifest = migrate(winch, storage, image, expect=3)
    comparison = Comparison(storage.bucket(), manifest, 'p').compare(rows)
    comparison.assert_equal()
    assert result.json['reasons'] == {'bad-record': 1}, result.json
    check_counts(result, manifest)


@pytest.mark.parametrize('name', ['cluster%d' % size for size in CLUSTERS] + ['sector4096'])
def test_geometry(name, winch, storage, images):
    compare(winch, storage, images.get(name, 'geometry'), images.rows(name))


@pytest.mark.parametrize('name', ['dirty', 'hibernated', 'mirror'])
def test_state(name, winch, storage, images):
    image = images.get(name, 'state')
    result, _ = compare(winch, storage, image, images.rows(name), '--no-default-excludes')
    assert result.json['warnings'] or name == 'mirror', result.json
    if name == 'hibernated':
        assert 'hibern' in str(result.json['warnings']).lower(), result.json


@pytest.mark.parametrize('number', [1, 2, 6])
def test_mbr_volume(number, winch, storage, images):
    image = images.get('mbr')
    compare(winch, storage, image, images.rows('mbr-p%d' % number), '--volume', number)


def test_mbr_all(winch, storage, images):
    """Three volumes, each in a folder of its own below the prefix."""
    image = images.get('mbr')
    result, manifest = migrate(winch, storage, image, expect=3)
    check_counts(result, manifest)
    # Partition 3 is FAT: named, and no success as long as nobody chose volumes.
    assert result.json['failed'] == 0, result.json
    assert any('FAT' in warning for warning in result.json['warnings']), result.json
    objects = storage.bucket().list('p/')
    for number in (1, 2, 6):
        for row in images.rows('mbr-p%d' % number):
            if row.want == 'data' and not row.stream:
                name = 'p/MBR%d/%s' % (number, row.path.decode())
                assert name in objects, name
                assert storage.bucket().sha256(name) == row.sha256


def test_chosen_volumes_are_all_there_is(winch, storage, images):
    """The same disk without a word about FAT once the volumes are named."""
    image = images.get('mbr')
    result, manifest = migrate(winch, storage, image, '--volume', '1,2,6')
    check_counts(result, manifest)
    assert not result.json['warnings'], result.json


def test_label(winch, storage, images):
    image = images.get('mbr')
    compare(winch, storage, image, images.rows('mbr-p2'), '--volume', 'MBR2')


def test_4k_disk(winch, storage, images):
    image = images.get('gpt4k', 'sector4k')
    compare(winch, storage, image, images.rows('gpt4k-p1'))


def test_demo_disk(winch, storage, images):
    """Recovery and reserved partitions are left alone when nothing is named."""
    image = images.get('demo')
    result, manifest = compare(winch, storage, image, images.rows('demo'))
    assert {line['volume'] for line in manifest.lines} == {'p2'}
    assert result.json['already_present'] == 0


def test_again(winch, storage, images):
    """A finished run is never continued; a second one finds everything and sends nothing."""
    image = images.get('valid')
    first, _ = migrate(winch, storage, image)
    before = storage.bucket().content('p')
    second, manifest = migrate(winch, storage, image)
    assert first.json['run'] != second.json['run']
    assert second.json['already_present'] == second.json['streams_uploaded']
    assert storage.bucket().content('p') == before
    Comparison(storage.bucket(), manifest, 'p').compare(
        images.rows('valid')).assert_equal()


def test_conflict(winch, storage, images):
    """Somebody else's object is not replaced, unless that is asked for."""
    image = images.get('valid')
    bucket = storage.bucket()
    bucket.put('p/valid.bin', b'somebody else wrote this')
    result, manifest = migrate(winch, storage, image, expect=3)
    assert result.json['reasons'] == {'conflict': 1}, result.json
    assert bucket.get('p/valid.bin') == b'somebody else wrote this'
    assert manifest.by_path()['valid.bin']['reason'] == 'conflict'
    migrate(winch, storage, image, '--if-exists', 'replace')
    row = next(row for row in images.rows('valid') if row.path == b'valid.bin')
    assert hashlib.sha256(bucket.get('p/valid.bin')).hexdigest() == row.sha256


def test_dry_run(winch, storage, images):
    image = images.get('kinds')
    result = winch.run(winch.migrate_command(image, DESTINATION, '--dry-run'), storage)
    assert result.exit in (0, 3), str(result)
    assert storage.bucket().list() == {}
    assert storage.stats()['received_bytes'] == 0


def test_include_exclude(winch, storage, images):
    image = images.get('demo')
    _, manifest = migrate(winch, storage, image, '--include', '*.png', '--exclude', '*2003*')
    sent = {line['path'] for line in manifest.lines if line['state'] == 'uploaded'}
    assert sent == {'Users/Anna/Pictures/Summer/IMG_%d.png' % n for n in (2001, 2002, 2004)}


def test_comparison_notices(winch, storage, images):
    """The comparison that all these tests rest on sees what is wrong, missing, or too much."""
    image = images.get('valid')
    _, manifest = migrate(winch, storage, image)
    bucket = storage.bucket()
    rows = images.rows('valid')
    bucket.put('p/small.bin', bytes(200000))
    bucket.put('p/stranger', b'')
    rows.append(type(rows[0])(b'absent.txt', b'', 0, rows[0].sha256, 'data'))
    problems = '\n'.join(Comparison(bucket, manifest, 'p').compare(rows).problems)
    assert 'small.bin' in problems and 'other content' in problems, problems
    assert 'stranger' in problems and 'absent.txt' in problems, problems
    bucket.delete('p/valid.bin')
    problems = '\n'.join(Comparison(bucket, manifest, 'p').compare(rows).problems)
    assert 'no object' in problems, problems
