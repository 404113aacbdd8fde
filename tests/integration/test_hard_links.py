# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with several names: one object and pointers to it, or an object for every name."""
import os
import shutil
import time

import pytest

import contents
import expectation
import ntfs_image
from comparing import check_counts
from local_storage import BUCKET, DESTINATION
from manifest import Manifest

MIB = 1 << 20
PAIRS = 300
LARGE = 65 * MIB + 5
SEGMENT_SECONDS = 60


@pytest.fixture(scope='module')
def linked(tmp_path_factory):
    """An image with linked files, and path -> content of every name."""
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    image = str(tmp_path_factory.mktemp('links') / 'links.img')
    ntfs_image.make_volume(image, 160 * MIB, 'LINKS')
    tree = expectation.Tree()
    names = {}

    def link(first, *others, data):
        tree.file(first, data)
        for path in (first,) + others:
            names[path] = data
        for other in others:
            os.link(os.path.join(tree.root, os.fsencode(first)),
                    os.path.join(tree.root, os.fsencode(other)))

    with ntfs_image.Mounted(image) as tree.root:
        for folder in ('one', 'two', 'left-out'):
            tree.directory(folder)
        link('one/a.txt', 'two/b.txt', 'left-out/c.txt', data=b'three names')
        link('one/plain.bin', 'two/plain.bin', data=contents.noise(1, 100000))
        link('one/large.bin', 'two/large#1', data=contents.noise(2, LARGE))
        link('one/empty', 'two/empty', data=b'')
        for i in range(PAIRS):
            link('one/%d' % i, 'two/%d' % i, data=b'pair %d' % i * (i % 7 * 200 + 1))
        tree.stream('one/a.txt', 'large', contents.noise(3, 10000))
    return image, names


def object_name(path):
    return 'p/' + path.replace('#1', '%u00231')


def check_copies(bucket, manifest, names, left_out=()):
    lines = manifest.by_path()
    for path, data in names.items():
        line = lines[object_name(path)[2:]]
        if path in left_out:
            assert line['state'] == 'name' and 'name' not in line, line
            assert 'p/' + path not in bucket.list('p/'), path
            continue
        assert line['name'] == object_name(path), line
        assert line['size'] == len(data) and line['crc32c'] and line['generation'], line
        assert bucket.get(line['name']) == data, path
    states = [line['state'] for line in lines.values()]
    assert states.count('name') == PAIRS + 5, states.count('name')


def test_once(winch, storage, linked):
    """The default: the content travels once, the other names point to it."""
    image, names = linked
    result = winch.migrate(storage, image, DESTINATION)
    manifest = Manifest(storage.bucket(), 'p')
    check_counts(result, manifest)
    lines = manifest.by_path()
    paths = [object_name(path)[2:] for path in names]
    pointing = [path for path in paths if lines[path]['state'] == 'name']
    assert len(pointing) == PAIRS + 5 == result.json['names']
    for path in pointing:
        target = lines[lines[path]['target']]
        assert 'name' not in lines[path] and target['state'] == 'uploaded'
        assert 'p/' + path not in storage.bucket().list('p/')


def test_copy(winch, storage, linked):
    image, names = linked
    result = winch.migrate(storage, image, DESTINATION, '--hard-links', 'copy', '--part-size',
                           '4M')
    bucket = storage.bucket()
    manifest = Manifest(bucket, 'p')
    check_copies(bucket, manifest, names)
    check_counts(result, manifest)
    assert result.json['streams_uploaded'] == len(names) + 1    # and one alternate stream
    assert storage.stats()['parts_left'] == 0
    assert [name for name in bucket.list('p/') if name.endswith('/large')] == \
        ['p/.winch/streams/one/a.txt/large']


def test_copies_obey_the_rules(winch, storage, linked):
    """A name that is left out gets no object; the file is there all the same."""
    image, names = linked
    result = winch.migrate(storage, image, DESTINATION, '--hard-links', 'copy', '--exclude',
                           'left-out')
    manifest = Manifest(storage.bucket(), 'p')
    check_copies(storage.bucket(), manifest, names, left_out=('left-out/c.txt',))
    check_counts(result, manifest)


def test_a_copy_that_fails(winch, storage, linked):
    """It fails its file and is named; the object of the other name stands."""
    image, _ = linked
    storage.bucket().put('p/two/plain.bin', b'of somebody else')
    result = winch.migrate(storage, image, DESTINATION, '--hard-links', 'copy', expect=3)
    manifest = Manifest(storage.bucket(), 'p')
    check_counts(result, manifest)
    assert result.json['reasons'] == {'conflict': 1}, result.json
    lines = manifest.by_path()
    assert lines['two/plain.bin']['reason'] == 'conflict', lines['two/plain.bin']
    assert 'name' not in lines['two/plain.bin'] and lines['two/plain.bin']['error']
    assert lines['one/plain.bin']['state'] == 'failed', lines['one/plain.bin']
    assert lines['one/plain.bin']['name'] == 'p/one/plain.bin'


def test_copies_resume(start_storage, winch, linked):
    """Also on a machine that lost its state: each name is found again by its own line."""
    image, names = linked
    storage = start_storage('--latency-ms', '40')
    running = winch.start(storage, image, DESTINATION, '--hard-links', 'copy', '--connections',
                          '1')
    limit = time.monotonic() + SEGMENT_SECONDS
    while not any('/segments/' in name for name in storage.bucket().list('p/.winch/runs')):
        assert running.alive() and time.monotonic() < limit, running.output()
        time.sleep(0.2)
    assert running.kill()
    shutil.rmtree(winch.state_folder)
    result = winch.migrate(storage, image, 'gs://%s/p' % BUCKET, '--hard-links', 'copy')
    manifest = Manifest(storage.bucket(), 'p')
    check_copies(storage.bucket(), manifest, names)
    check_counts(result, manifest)
    assert result.json['resumed'] is True
    stats = storage.stats()
    assert stats['max_inserts_per_object'] <= 2 and stats['parts_left'] == 0, stats


def test_other_choice_is_another_run(winch, start_storage, linked):
    """A run is only continued with the same choice."""
    image, _ = linked
    storage = start_storage('--latency-ms', '40')
    running = winch.start(storage, image, DESTINATION, '--connections', '1')
    assert storage.wait_until(lambda s: s['inserts'] >= 20, SEGMENT_SECONDS, running.alive)
    assert running.kill()
    result = winch.migrate(storage, image, DESTINATION, '--hard-links', 'copy')
    assert result.json['resumed'] is False, result.json
