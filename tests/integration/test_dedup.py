# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of Windows Data Deduplication, from chunk stores that the tests made themselves."""
import gzip
import hashlib
import json
import os

import pytest

from comparing import Comparison, check_counts
from local_storage import BUCKET, DESTINATION
from manifest import Manifest

STORE = b'System Volume Information/Dedup/'


def migrate(winch, storage, image, *options, expect=0):
    result = winch.migrate(storage, image, 'gs://%s/p' % BUCKET, *options, expect=expect)
    manifest = Manifest(storage.bucket(), 'p')
    check_counts(result, manifest)
    return result, manifest


def failed(manifest):
    return {path: line for path, line in manifest.by_path().items() if line['state'] == 'failed'}


def check_store(storage, manifest, rows):
    """All files of the chunk store are in the bucket, as they stand on the disk, and marked."""
    stores = [row for row in rows if row.path.startswith(STORE) and row.want == 'data']
    assert len(stores) >= 3
    for row in stores:
        path = os.fsdecode(row.path)
        line = manifest.by_path()[path]
        assert line['state'] == 'uploaded' and line['chunk_store'] is True, line
        assert line['name'] == 'p/.winch/dedup/' + path
        content = storage.bucket().get(line['name'])
        assert hashlib.sha256(content).hexdigest() == row.sha256, path


def check_no_store(storage, manifest):
    assert not any('/.winch/dedup/' in name for name in storage.bucket().list('p/'))
    lines = [line for path, line in manifest.by_path().items()
             if path.startswith(os.fsdecode(STORE)) and path.endswith('.ccc')]
    assert lines and all((line['state'], line['reason']) == ('excluded', 'excluded')
                         for line in lines)


def test_sound(winch, storage, images):
    result, manifest = migrate(winch, storage, images.get('dedup'),
                               '--no-default-excludes', expect=None)
    assert not failed(manifest), failed(manifest)
    assert result.exit == 0, result
    Comparison(storage.bucket(), manifest, 'p').compare(images.rows('dedup')).assert_equal()
    lines = {path: line for path, line in manifest.by_path().items() if path.startswith('sound/')}
    files = [line for line in lines.values() if line['state'] == 'uploaded']
    assert len(files) >= 18 and all(line['form'] == 'dedup' for line in files), lines


def test_store_not_needed(winch, storage, images):
    result, manifest = migrate(winch, storage, images.get('dedup'))
    assert result.json['failed'] == 0
    check_no_store(storage, manifest)


def test_store_not_needed_for_a_conflict(winch, storage, images):
    """The content is not lost with the disk's: it could be read."""
    storage.bucket().put('p/sound/parts-v31.bin', b'somebody else was here first')
    result, manifest = migrate(winch, storage, images.get('dedup'), expect=3)
    assert result.json['reasons'] == {'conflict': 1}, result.json
    check_no_store(storage, manifest)


def check_reparse(storage, run, lines):
    """Beside the store stands how the chunks of each failed file are found."""
    name = 'p/.winch/dedup/reparse-%s-00000.jsonl.gz' % run
    first, *rest = gzip.decompress(storage.bucket().get(name)).decode().splitlines()
    assert json.loads(first) == {'schema': 'winch-manifest/1', 'run': run}
    blobs = {line['path']: line['reparse'] for line in map(json.loads, rest)}
    assert blobs == {path: line['reparse'] for path, line in lines.items()}


def test_damaged(winch, storage, images):
    image = images.get('dedup-damaged')
    with open(os.path.splitext(str(image))[0] + '.sentences', encoding='utf-8') as stream:
        sentences = dict(line.rstrip('\n').split('\t') for line in stream)
    result, manifest = migrate(winch, storage, image, expect=3)
    lines = failed(manifest)
    assert len(sentences) >= 25 and sorted(lines) == sorted(sentences), sorted(lines)
    for path, sentence in sentences.items():
        assert lines[path]['reason'] == 'dedup', (path, lines[path])
        assert sentence in lines[path]['error'], (path, lines[path]['error'])
    assert result.json['reasons'] == {'dedup': len(sentences)}
    assert not any('damaged/' in name and '/.winch/' not in name
                   for name in storage.bucket().list('p/'))
    assert manifest.by_path()['sound.bin']['state'] == 'uploaded'
    check_store(storage, manifest, images.rows('dedup-damaged'))
    assert all(line['reparse_tag'] and line['reparse'] for line in lines.values())
    check_reparse(storage, result.json['run'], lines)


def test_large(winch, storage, images):
    """Parts of one file, read by several workers at their offsets."""
    result, manifest = migrate(winch, storage, images.get('dedup-large'), '--part-size', '3M',
                               '--connections', '6')
    rows = [row for row in images.rows('dedup-large') if row.path == b'large.bin']
    Comparison(storage.bucket(), manifest, 'p').compare(rows)
    content = storage.bucket().get('p/large.bin')
    assert len(content) == rows[0].size > 64 << 20
    assert hashlib.sha256(content).hexdigest() == rows[0].sha256
    assert storage.stats()['composes'] > 0 and result.json['failed'] == 0


def test_raw(winch, storage, images):
    result, manifest = migrate(winch, storage, images.get('dedup'), '--dedup', 'raw', expect=3)
    assert set(result.json['reasons']) == {'dedup'}
    check_store(storage, manifest, images.rows('dedup'))
    check_reparse(storage, result.json['run'], failed(manifest))


@pytest.mark.parametrize('name', ('.winch/dedup/', 'manifest-00000', 'sound.bin'))
def test_killed(winch, storage, new_winch, start_storage, images, name):
    """Whenever it is killed, the same command ends with the same bucket."""
    image = images.get('dedup-damaged')
    whole = start_storage()
    new_winch('whole').migrate(whole, image, DESTINATION, expect=3)
    storage.hold(method='POST', name_contains=name, when='before')
    running = winch.start(storage, image, DESTINATION)
    assert storage.wait_until(lambda stats: stats['held'] > 0, 60, running.alive)
    assert running.kill()
    storage.release()
    assert storage.wait_until(lambda stats: stats['held'] == 0, 10)
    result, manifest = migrate(winch, storage, image, expect=3)
    assert result.json['resumed'] is True
    check_store(storage, manifest, images.rows('dedup-damaged'))
    assert storage.bucket().content('p') == whole.bucket().content('p')


def test_fail(winch, storage, images):
    result, manifest = migrate(winch, storage, images.get('dedup'), '--dedup', 'fail', expect=3)
    lines = failed(manifest)
    assert lines and set(lines) == {path for path, line in manifest.by_path().items()
                                    if line.get('form') == 'dedup'}
    assert all(line['reason'] == 'dedup' for line in lines.values())
    assert result.json['reasons'] == {'dedup': len(lines)}
    assert manifest.by_path()['plain.txt']['state'] == 'uploaded'
    check_no_store(storage, manifest)


@pytest.mark.parametrize('mode,expect', [('auto', 0), ('fail', 3)])
def test_dry_run(winch, storage, images, mode, expect):
    result = winch.migrate(storage, images.get('dedup'), 'gs://%s/p' % BUCKET, '--dedup', mode,
                           '--dry-run', expect=expect)
    assert (result.json['failed'] > 0) == (mode == 'fail'), result.json
    assert (result.json['planned']['deduplicated'] > 10) == (mode == 'auto'), result.json
    assert result.json['planned']['files'] == result.json['planned']['objects']
