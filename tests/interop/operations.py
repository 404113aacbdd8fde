# SPDX-License-Identifier: GPL-3.0-or-later
"""What each client is asked to do.

A function gets the World of one client and asserts; it may return what the client refuses to do by
design where that is known and there is another way.
"""
import base64
import os

import pytest

from contents import noise
from library_client import Refused
from manifest import crc32c
from world import PREFIX, sha256_of

MIB = 1 << 20
ODD_NAMES = (
    'with space.txt', ' leading.txt', 'percent%20.txt', 'percent%.txt', '%2F.txt', 'hash#1.txt',
    'question?.txt', 'star*.txt', '[brackets].txt', 'plus+and&=.txt', 'semi;colon,comma.txt',
    'quote\'".txt', 'at@tilde~.txt', 'Öğrenci – №1.txt', 'привет.txt', '日本語.txt',
    'emoji\U0001f600.txt', 'nfd-e\u0301.txt', 'nfc-\u00e9.txt', 'folder.d/sub#2/a?b.txt',
    'folder.d/100% sure/c+d.txt')
PAGED = 1203     # more than one page of a listing


def put(world, name, data):
    world.bucket.put(name, data)


def small(world):
    """A small object and an empty one: up, down, and all sides agree about their checksums."""
    data = noise(1, 5000)
    facts = world.client.upload(world.file('small', data), 'small/a.bin')
    world.check_content('small/a.bin', data, facts)
    item = world.server_facts('small/a.bin')
    assert item['crc32c'] == crc32c(data)
    back = world.path('back', 'small')
    world.client.download('small/a.bin', back)
    with open(back, 'rb') as stream:
        assert stream.read() == data
    facts = world.client.upload(world.file('empty', b''), 'small/empty')
    world.check_content('small/empty', b'', facts)
    back = world.path('back', 'empty')
    world.client.download('small/empty', back)
    assert os.path.getsize(back) == 0


def names(world):
    """Names that need care in a URL, up and down again."""
    for number, name in enumerate(ODD_NAMES):
        world.file(os.path.join('names', name), b'content %d' % number)
    world.client.upload_tree(world.path('files', 'names'), ODD_NAMES, 'names/')
    there = world.bucket.list('names/')
    assert sorted(there) == sorted('names/' + name for name in ODD_NAMES)
    for number, name in enumerate(ODD_NAMES):
        assert world.bucket.get('names/' + name) == b'content %d' % number, name
    folder = world.path('back', 'names', '')
    world.client.download_tree(ODD_NAMES, 'names/', folder)
    for number, name in enumerate(ODD_NAMES):
        with open(os.path.join(folder, name), 'rb') as stream:
            assert stream.read() == b'content %d' % number, name
    listed = world.client.list('names/')['names']
    assert sorted(listed) == sorted(there), sorted(set(listed) ^ set(there))


def large(world):
    """In chunks, or composed of components, whichever the client has; read in slices."""
    data = noise(2, 21 * MIB + 12345)
    facts = world.client.upload_large(world.file('large', data), 'large/a.bin')
    world.check_content('large/a.bin', data, facts)
    assert world.storage.stats()['parts_left'] == 0
    back = world.path('back', 'large')
    world.client.download_large('large/a.bin', back)
    with open(back, 'rb') as stream:
        assert stream.read() == data
    left = [name for name in world.bucket.list() if 'composite_upload' in name]
    assert not left, '%d components are left: %s' % (len(left), left[0])


def multipart(world):
    """The XML API's multipart upload."""
    data = noise(3, 16 * MIB + 99)
    facts = world.client.upload_multipart(world.file('multipart', data), 'large/multipart.bin')
    world.check_content('large/multipart.bin', data, facts)
    assert world.storage.stats()['parts_left'] == 0


def stat(world):
    """Size, checksums, generation and own metadata as the client reports them."""
    data = noise(4, 3000)
    put(world, 'stat/a.bin', data)
    facts = world.client.stat('stat/a.bin')
    item = world.server_facts('stat/a.bin')
    assert facts['crc32c'] is not None or facts.get('md5_hex') is not None, facts
    world.check_facts(facts, item)
    if facts['crc32c'] is not None:
        assert int.from_bytes(base64.b64decode(facts['crc32c']), 'big') and \
            facts['crc32c'] == crc32c(data)


def listing(world):
    """More objects than a page has, and one level alone."""
    if 'list/n0000' not in world.bucket.list('list/n0000'):
        for number in range(PAGED):
            put(world, 'list/n%04d' % number, b'')
        put(world, 'list/folder/inner', b'x')
    found = world.client.list('list/')['names']
    assert sorted(found) == sorted(['list/n%04d' % number for number in range(PAGED)]
                                   + ['list/folder/inner'])
    level = world.client.list('list/', '/')
    assert len(set(level['names'])) == PAGED and 'list/folder/inner' not in level['names']
    assert level['prefixes'] == ['list/folder/']


def new(world):
    """An insert that wants the name to be free is refused where it is not."""
    put(world, 'new/taken', b'old')
    with pytest.raises(Refused) as refused:
        world.client.upload(world.file('new', b'other'), 'new/taken', True)
    assert refused.value.status == 412, refused.value
    assert world.bucket.get('new/taken') == b'old'
    world.client.upload(world.file('new', b'other'), 'new/free', True)
    assert world.bucket.get('new/free') == b'other'


def compose(world):
    pieces = [noise(10 + number, 1000 + number) for number in range(3)]
    for number, piece in enumerate(pieces):
        put(world, 'compose/piece %d' % number, piece)
    sources = ['compose/piece %d' % number for number in range(3)]
    facts = world.client.compose('compose/whole', sources)
    whole = b''.join(pieces)
    world.check_content('compose/whole', whole, facts)
    item = world.server_facts('compose/whole')
    assert item['crc32c'] == crc32c(whole) and 'md5Hash' not in item
    assert item['componentCount'] == 3


def copy(world):
    """On the server."""
    data = noise(5, 4000)
    put(world, 'copy/from here', data)
    before = world.storage.stats()['received_bytes']
    facts = world.client.copy('copy/from here', 'copy/to #here')
    world.check_content('copy/to #here', data, facts)
    assert world.storage.stats()['received_bytes'] - before < len(data), 'the bytes travelled'


def update(world):
    """Metadata of one's own."""
    put(world, 'update/a', b'data')
    world.client.update('update/a', {'colour': 'blue green'})
    item = world.server_facts('update/a')
    assert item['metadata'] == {'colour': 'blue green'}, item
    assert world.client.stat('update/a')['metadata'].get('colour') == 'blue green'
    assert world.bucket.get('update/a') == b'data'


def delete(world):
    """Several at once; gone is gone."""
    gone = ['delete/a', 'delete/b c', 'delete/d#e', 'delete/ü%20']
    for name in gone + ['delete/stays']:
        put(world, name, b'x')
    world.client.delete(gone)
    assert list(world.bucket.list('delete/')) == ['delete/stays']
    with pytest.raises(Refused):
        world.client.delete(['delete/a', 'delete/b c'])
    assert list(world.bucket.list('delete/')) == ['delete/stays']


def winch(world):
    """All that winch wrote comes down with the content of the disk, and with winch's checksums."""
    written = world.written
    if not written.sha256:
        pytest.skip('no image could be made: ' + written.missing)
    assert max(written.components.values()) > 32, 'no tree of composes is among the objects'
    folder = world.path('back', 'winch', '')
    like_generations = world.client.download_tree(sorted(written.sha256), PREFIX + '/', folder)
    assert not like_generations, like_generations
    wrong = [name for name, value in written.sha256.items()
             if not os.path.isfile(folder + name) or sha256_of(folder + name) != value]
    assert not wrong, '%d of %d: %r' % (len(wrong), len(written.sha256), wrong[:5])
    facts = world.client.stat_tree(sorted(written.crc32c), PREFIX + '/')
    wrong = [(name, facts.get(name)) for name, value in written.crc32c.items()
             if name not in facts or facts[name]['crc32c'] not in (None, value)]
    assert not wrong, wrong[:5]
    return ''


OPERATIONS = {
    'small': small, 'names': names, 'large': large, 'multipart': multipart,
    'stat': stat, 'list': listing, 'new': new, 'compose': compose, 'copy': copy,
    'update': update, 'delete': delete, 'winch': winch,
}
