# SPDX-License-Identifier: GPL-3.0-or-later
"""Images with deduplicated files, sound and damaged, and the chunk stores behind them."""
import os
import struct

import contents
import dedup
import expectation
import ntfs_image

MIB = 1 << 20
CHUNKS = (65536, 40000, 131072, 32768, 77777)


def write_sound(tree, store):
    """name → (chunks, compressed?); one file each, in all three versions of reparse data."""
    text = contents.text(9000)
    noise = contents.noise(81, 700001)
    shared = dedup.cut(contents.noise(82, 300000) + text[:150000], CHUNKS)
    repeats = b'a' * 131072 + b'abcdefgh' * 8000 + bytes(100000)
    files = {
        'raw': (dedup.cut(noise, CHUNKS), False),
        'compressed': (dedup.cut(text, CHUNKS), True),
        'mixed': (dedup.cut(noise[:200000] + text + noise[200000:], CHUNKS), True),
        'shared-one': (shared, True),
        'shared-two': (shared[3:] + shared[:3] + shared, True),
        'same-chunk': ([text[:70000]] * 20, True),
        'runs': (dedup.cut(repeats, CHUNKS), True),
        'zeros-at-the-end': (dedup.cut(text[:100000] + bytes(90000), CHUNKS), True),
        'byte-at-the-end': ([noise[:50000], b'x'], True),
        'one-chunk': ([noise[:131072]], False),
        'cluster-and-a-byte': ([noise[:4097]], False),
        'many-chunks': (dedup.cut(contents.noise(83, 900000), (333, 444)), False),
    }
    versions = (('v12', dedup.reparse_short), ('v21', dedup.reparse_fixed),
                ('v31', dedup.reparse_long))
    tree.directory('sound')
    for number, (name, (chunks, packed)) in enumerate(files.items()):
        data = b''.join(chunks)
        part = store.add(chunks, packed)
        for version, make in versions if number < 3 else versions[number % 3:][:1]:
            dedup.write_one(tree, 'sound/%s-%s.bin' % (name, version), len(data),
                            make(store.guid, [part], len(data)), data)
    write_parts(tree, store, noise)


def write_parts(tree, store, noise):
    """One file by several maps, and one whose map has moved."""
    parts, at = [], 0
    for size in (200000, 131072, 99999):
        chunks = dedup.cut(noise[at:at + size], CHUNKS)
        ends = [at + sum(map(len, chunks[:i + 1])) for i in range(len(chunks))]
        parts.append((store.map([store.chunk(c) for c in chunks], ends), at, at + size))
        at += size
    for name, make in (('v21', dedup.reparse_fixed), ('v31', dedup.reparse_long)):
        dedup.write_one(tree, 'sound/parts-%s.bin' % name, at, make(store.guid, parts, at),
                        noise[:at])
    data = contents.text(3000)
    (number, container, offset, size, value), begin, end = store.add(dedup.cut(data, CHUNKS))
    store.streams[0].redirected = {number - 1: 17, number: offset, number + 5: 3}
    moved = (number, container, dedup.FIRST + 8, size, value)
    dedup.write_one(tree, 'sound/moved-map.bin', len(data),
                    dedup.reparse_long(store.guid, [(moved, begin, end)], end), data)
    plain = contents.noise(84, 50000)
    number, _, offset, _, value, stored = store.chunk(plain)
    header = store.data[number % len(store.data)].records[offset - dedup.FIRST:][:88]
    newer = dedup.Container(7, generation=3)
    store.data.append(newer)
    newer.add(b'', bytes(4096))
    newer.redirected = {number: newer.add(bytes(header), plain)}
    part = (store.map([(number, 7, offset, 1, value, stored)], [len(plain)]), 0, len(plain))
    dedup.write_one(tree, 'sound/moved-chunk.bin', len(plain),
                    dedup.reparse_long(store.guid, [part], len(plain)), plain)


class Damage:
    """Files that must fail as dedup, each with its sentence."""

    def __init__(self, tree, store):
        self.tree = tree
        self.store = store
        self.sentences = {}
        self.plain = contents.noise(91, 60000)
        self.text = contents.text(3000)
        tree.directory('damaged')

    def file(self, name, sentence, reparse, size):
        path = 'damaged/%s.bin' % name
        self.sentences[path] = sentence
        dedup.write_one(self.tree, path, size, reparse, 'dedup')

    def mapped(self, name, sentence, entries, ends, file_size, **changed):
        number, container, offset, length, value = self.store.map(entries, ends)
        part = {'number': number, 'container': container, 'offset': offset, 'size': length,
                'value': value, 'begin': 0, 'end': file_size, **changed}
        self.file(name, sentence, dedup.reparse_long(
            self.store.guid, [((part['number'], part['container'], part['offset'], part['size'],
                                part['value']), part['begin'], part['end'])], file_size), file_size)

    def chunked(self, name, sentence, entry, size=None):
        size = size or len(self.plain)
        self.mapped(name, sentence, [entry], [size], size)

    def reparse_points(self):
        good = self.store.add([self.plain])
        size = len(self.plain)
        make = dedup.reparse_long
        guid = self.store.guid
        self.file('version', 'version that is not known',
                  make(guid, [good], size, version=(4, 0)), size)
        self.file('revision', 'revision that is not known',
                  make(guid, [good], size, revision=2), size)
        flipped = bytearray(make(guid, [good], size))
        flipped[70] ^= 1
        self.file('checksum', 'checksum differs', bytes(flipped), size)
        self.file('no-store', 'is not on this volume',
                  make(dedup.Store(99).guid, [good], size), size)
        self.file('grown', 'another size', make(guid, [good], size), size + 1)
        self.file('shrunk', 'another size', make(guid, [good], size), size - 1)
        self.file('shrunk-v21', 'another size',
                  dedup.reparse_fixed(guid, [good], size), size - 1)
        self.file('gap', 'gap or overlap', make(guid, [(good[0], 1, size)], size), size)
        self.file('short', 'are cut', b'\3\1\4\0', size)
        self.file('nothing', 'are cut', dedup.sealed(struct.pack('<BBH', 1, 2, 8)), size)

    def maps(self):
        entry = self.store.chunk(self.plain)
        size = len(self.plain)
        self.mapped('no-map-container', 'of stream maps is missing', [entry], [size], size,
                    container=77)
        self.mapped('map-beyond', 'stream map lies beyond', [entry], [size], size,
                    offset=0xFFFFFF00, number=0)
        self.mapped('map-elsewhere', 'stream map is not in container', [entry], [size], size,
                    offset=dedup.FIRST + 8, number=0)
        self.mapped('map-digest', 'stream map is not in container', [entry], [size], size,
                    value=bytes(16))
        self.mapped('map-size', 'impossible size of the stream map', [entry], [size], size,
                    size=100)
        self.mapped('tiles-too-little', 'does not tile it: it ends', [entry], [size], size + 1)
        self.mapped('tiles-too-much', 'does not tile it: gap or overlap', [entry], [size + 1], size)
        self.mapped('backwards', 'does not tile it: gap or overlap', [entry] * 2, [size, size],
                    size)
        self.mapped('large-chunk', 'impossible size at byte 0', [entry], [200000], 200000)
        self.mapped('fat-chunk', 'impossible size at byte 0', [entry[:5] + (size + 1,)], [size],
                    size)

    def chunks(self):
        store = self.store
        good = store.chunk(self.plain)
        number, _, offset, generation, value, stored = good
        self.chunked('no-container', 'of chunks is missing',
                     (number, 99, offset, generation, value, stored))
        self.chunked('chunk-beyond', 'lies beyond the end of container',
                     (0, good[1], 0xFFFFFF00, generation, value, stored))
        self.chunked('chunk-elsewhere', 'is not in container',
                     (0, good[1], offset + 8, generation, value, stored))
        self.chunked('chunk-hash', 'is not in container',
                     (0, good[1], offset, generation, bytes(32), stored))
        self.chunked('other-content', 'its content has another hash',
                     store.chunk(self.plain[:-1] + b'!', hashed=dedup.digest(b'no')))
        packed = dedup.compress(self.text)
        flipped = bytearray(packed)
        flipped[len(packed) // 2] ^= 0x41
        size = len(self.text)
        self.chunked('packed-damaged', 'the chunk at byte 0', store.chunk(
            self.text, bytes(flipped), dedup.digest(self.text)), size)
        self.chunked('packed-cut', 'end too early', store.chunk(
            self.text, packed[:-900], dedup.digest(self.text)), size)
        self.chunked('packed-unknown', 'compressed in a way that is not known (3)', store.chunk(
            self.text, packed[:-901], dedup.digest(self.text), compression=3), size)

    def written_since(self):
        part = self.store.add([self.plain])
        path = 'damaged/written.bin'
        self.sentences[path] = 'have been written to since'
        with open(self.tree.at(path), 'wb') as stream:
            stream.write(b'new' * 3000)
            stream.truncate(len(self.plain))
        self.tree.attribute(path, 'system.ntfs_reparse_data', contents.reparse(
            dedup.TAG, dedup.reparse_long(self.store.guid, [part], len(self.plain))))
        self.tree.record(path, '', bytes(len(self.plain)), 'dedup')


def make_dedup(out):
    """Only files that can be had."""
    image = os.path.join(out, 'dedup.img')
    ntfs_image.make_volume(image, 64 * MIB, 'DEDUP')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        store = dedup.Store(1, data_containers=3)
        tree.file('plain.txt', b'beside them')
        write_sound(tree, store)
        store.write(tree)
    tree.write(os.path.join(out, 'dedup.tsv'))


def make_dedup_large(out):
    """One file that goes in parts, of few distinct chunks: the store is small."""
    image = os.path.join(out, 'dedup-large.img')
    ntfs_image.make_volume(image, 64 * MIB, 'DEDUP')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        store = dedup.Store(3, data_containers=4)
        distinct = dedup.cut(contents.noise(95, 2500000) + contents.text(9000), CHUNKS)
        chunks = [distinct[i * i % len(distinct)] for i in range(1200)]
        data = b''.join(chunks)
        part = store.add(chunks)
        dedup.write_one(tree, 'large.bin', len(data),
                        dedup.reparse_long(store.guid, [part], len(data)), data)
        store.write(tree)
    tree.write(os.path.join(out, 'dedup-large.tsv'))


def make_dedup_damaged(out):
    """Each file fails for a reason of its own; the sentences stand in a file of their own."""
    image = os.path.join(out, 'dedup-damaged.img')
    ntfs_image.make_volume(image, 64 * MIB, 'DEDUP')
    tree = expectation.Tree()
    with ntfs_image.Mounted(image) as tree.root:
        damage = Damage(tree, dedup.Store(2, data_containers=2))
        damage.reparse_points()
        damage.maps()
        damage.chunks()
        damage.written_since()
        sound = contents.noise(92, 100000)
        part = damage.store.add(dedup.cut(sound, CHUNKS))
        dedup.write_one(tree, 'sound.bin', len(sound),
                        dedup.reparse_fixed(damage.store.guid, [part], len(sound)), sound)
        damage.store.write(tree)
    tree.write(os.path.join(out, 'dedup-damaged.tsv'))
    with open(os.path.join(out, 'dedup-damaged.sentences'), 'w', encoding='utf-8') as stream:
        for path, sentence in damage.sentences.items():
            stream.write('%s\t%s\n' % (path, sentence))
