# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of all objects on the command line stands on every object, whatever way it went."""
import os
import pathlib

import pytest

import contents
import ntfs_image
from comparing import Comparison
from conftest import MOVE
from local_storage import DESTINATION
from manifest import Manifest

KEY = 'projects/p/locations/eu/keyRings/r/cryptoKeys/k'
OFFICE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
OPTIONS = ('--part-size', '2M', '--progress', 'none')
SAID = ('--encryption-key', KEY, '--cache-control', 'private, max-age=60', '--custom-time', 'mtime',
        '--metadata', 'case=K-17', '--metadata', 'owner=Jos\u00e9 "Pepe" \\o/',
        '--storage-class', 'NEARLINE')


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


def test_all_ways(storage, winch, images, image):
    winch.migrate(storage, image, DESTINATION, *OPTIONS, *SAID)
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p')
    Comparison(bucket, manifest, 'p').compare(images.rows('move')).assert_equal()
    lines = {line['name']: line for line in manifest.lines if 'generation' in line}
    items = bucket.list('p/')
    ways = set()
    for name, line in lines.items():
        item = items[name]
        ways.add('composite' if 'componentCount' in item else
                 'whole' if line['size'] > 1 << 20 else 'small')
        assert 'customTime' in item, name
        assert item['cacheControl'] == 'private, max-age=60', name
        if 'stream' not in line:
            assert item['customTime'] == line['mtime'], name
        assert item['metadata']['case'] == 'K-17', name
        assert item['metadata']['owner'] == 'Jos\u00e9 "Pepe" \\o/', name
        assert item['metadata']['winch-run'] == manifest.run, name
    assert ways == {'composite', 'whole', 'small'}
    for name, item in items.items():
        assert item['kmsKeyName'].startswith(KEY), name
        assert item['storageClass'] == 'NEARLINE', name
        if name not in lines:
            assert 'cacheControl' not in item and 'customTime' not in item, name
    assert '--cache-control' in manifest.run_json['command']


def test_nothing_is_said_by_default(storage, winch, image):
    winch.migrate(storage, image, DESTINATION, *OPTIONS)
    for name, item in storage.bucket().list('p/').items():
        assert not {'cacheControl', 'customTime', 'kmsKeyName'} & item.keys(), name


def test_content_types(storage, winch, tmp_path):
    """By extension; where that says nothing, by a look at the bytes, whatever way they go."""
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    files = {
        'report.docx': (b'no such thing', OFFICE),
        'README': (b'hello\n', 'text/plain'),
        'picture': (contents.photo(1), 'image/png'),
        'data.bin': (b'%PDF-1.7\n\0', 'application/pdf'),
        'noise.xyz': (b'\0' + contents.noise(1, 3000), 'application/octet-stream'),
        'empty': (b'', 'application/octet-stream'),
        'whole': (b'PK\3\4' + contents.noise(2, 2 << 20), 'application/zip'),
        'large': (b'vhdxfile' + contents.noise(3, 65 << 20), 'application/x-vhdx'),
    }
    image = str(tmp_path / 'types.img')
    ntfs_image.make_volume(image, 120 << 20, 'TYPES')
    with ntfs_image.Mounted(image) as root:
        for name, (data, _) in files.items():
            (pathlib.Path(os.fsdecode(root)) / name).write_bytes(data)
    winch.migrate(storage, image, DESTINATION, '--progress', 'none')
    items = storage.bucket().list('p/')
    assert 'componentCount' in items['p/large']
    for name, (_, wanted) in files.items():
        assert items['p/' + name]['contentType'] == wanted, name


def test_other_metadata_is_another_run(storage, winch, image):
    """Interrupted under one set, it is not continued under another."""
    storage.hold(method='POST', name_contains='later/file000100.dat', when='before')
    running = winch.start(storage, image, DESTINATION, *OPTIONS, '--metadata', 'case=1')
    assert storage.wait_until(lambda stats: stats['held'] > 0, 60, running.alive)
    running.kill()
    first = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--metadata', 'case=2')
    assert not first.json['resumed']


def test_a_key_that_cannot_be_used_stops_the_run(start_storage, winch, image, tmp_path):
    faults = tmp_path / 'faults'
    faults.write_text('{"method":"POST","path_contains":"kmsKeyName=","every":1,"action":"status",'
                      '"status":400,"body":"{\\"error\\":{\\"code\\":400,\\"message\\":\\"Cloud '
                      'KMS key is in another location\\",\\"errors\\":[{\\"reason\\":'
                      '\\"cloudKmsKeyLocationNotAllowed\\"}]}}"}\n')
    storage = start_storage('--faults', str(faults))
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, '--encryption-key', KEY, expect=5)
    assert result.seconds < 20 and result.json['failed'] == 0, str(result)
    assert 'another location' in result.json['error'], result.json['error']
    assert storage.stats()['requests'] < 200
