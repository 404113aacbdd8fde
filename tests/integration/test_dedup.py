# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of Windows Data Deduplication, from chunk stores that the tests made themselves."""
import os

import pytest

from comparing import Comparison, check_counts
from local_storage import BUCKET
from manifest import Manifest


def migrate(winch, storage, image, *options, expect=0):
    result = winch.migrate(storage, image, 'gs://%s/p' % BUCKET, *options, expect=expect)
    manifest = Manifest(storage.bucket(), 'p')
    check_counts(result, manifest)
    return result, manifest


def failed(manifest):
    return {path: line for path, line in manifest.by_path().items() if line['state'] == 'failed'}


def test_sound(winch, storage, images):
    result, manifest = migrate(winch, storage, images.get('dedup'),
                               '--no-default-excludes', expect=None)
    assert not failed(manifest), failed(manifest)
    assert result.exit == 0, result
    Comparison(storage.bucket(), manifest, 'p').compare(images.rows('dedup')).assert_equal()
    lines = {path: line for path, line in manifest.by_path().items() if path.startswith('sound/')}
    files = [line for line in lines.values() if line['state'] == 'uploaded']
    assert len(files) >= 18 and all(line['form'] == 'dedup' for line in files), lines


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


def test_fail(winch, storage, images):
    result, manifest = migrate(winch, storage, images.get('dedup'), '--dedup', 'fail', expect=3)
    lines = failed(manifest)
    assert lines and set(lines) == {path for path, line in manifest.by_path().items()
                                    if line.get('form') == 'dedup'}
    assert all(line['reason'] == 'dedup' for line in lines.values())
    assert result.json['reasons'] == {'dedup': len(lines)}
    assert manifest.by_path()['plain.txt']['state'] == 'uploaded'


@pytest.mark.parametrize('mode,expect', [('auto', 0), ('fail', 3)])
def test_dry_run(winch, storage, images, mode, expect):
    result = winch.migrate(storage, images.get('dedup'), 'gs://%s/p' % BUCKET, '--dedup', mode,
                           '--dry-run', expect=expect)
    assert (result.json['failed'] > 0) == (mode == 'fail'), result.json
