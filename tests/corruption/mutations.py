# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded corruption of a volume, aimed at its metadata."""
import random
import struct

from reading import Volume

VALUES = (0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
          512, 1024, 4096, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff)
# What is hit how often.
TARGETS = ('record',) * 8 + ('system', 'boot', 'bitmap', 'mirror', 'index', 'log', 'anywhere')


class Layout:
    """Where the metadata of a volume lie, as (first byte, bytes) of the volume."""

    def __init__(self, data):
        volume = Volume(data)
        self.record_bytes = volume.record_bytes
        self.cluster = volume.cluster
        self.records = []
        self.index = []
        for place, count in volume.table:
            start = place * volume.cluster
            for at in range(start, start + count * volume.cluster, volume.record_bytes):
                record = volume.fixed(at)
                if record is None or not record[22] & 1:
                    continue
                self.records.append(at)
                for kind, body in volume.attributes(record):
                    if kind == 0xA0:
                        self.index += self.places(volume.extents(body) or ())
        self.bitmap = self.places(volume.extents(volume.attribute(volume.record(6), 0x80, b'')))
        self.log = self.places(volume.extents(volume.attribute(volume.record(2), 0x80, b'')))
        mirror = struct.unpack_from('<Q', data, 56)[0] * volume.cluster
        self.areas = {
            'record': [(at, self.record_bytes) for at in self.records[12:]],
            'system': [(at, self.record_bytes) for at in self.records[:12]],
            'boot': [(0, 90)],
            'bitmap': [(at, min(size, 2048)) for at, size in self.bitmap],
            'mirror': [(mirror, 4 * self.record_bytes)],
            'index': self.index,
            'log': [(self.log[0][0], 8192)],
            'anywhere': [(0, len(data))],
        }

    def places(self, runs):
        return [(place * self.cluster, count * self.cluster) for place, count in runs
                if place is not None]


def mutate(layout, data, seed):
    """The volume `data` (a bytearray) is corrupted in place; returns what was done."""
    chance = random.Random(seed)
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 3, 5, 8, 20))):
        target = chance.choice(TARGETS)
        start, size = chance.choice(layout.areas[target])
        at = start + chance.randrange(size)
        if target in ('record', 'system') and chance.random() < 0.7:
            # Few bytes of a record are in use, and most of them at its start.
            at = start + chance.randrange(min(size, 480))
        done.append('%s+%d' % (target, at - start))
        change(layout, data, chance, target, start, at)
    return done


def change(layout, data, chance, target, start, at):
    how = chance.randrange(12)
    if how < 5:
        data[at] ^= 1 << chance.randrange(8)
    elif how < 7:
        data[at] = chance.randrange(256)
    elif how < 10:
        width = chance.choice((1, 2, 4, 8))
        value = (chance.choice(VALUES) + chance.randrange(-1, 2)) % (1 << 8 * width)
        data[at:at + width] = value.to_bytes(width, 'little')[:max(0, len(data) - at)]
    elif how == 10 and target == 'record':
        # A record, or its inside, stands in the place of another.
        other = chance.choice(layout.records)
        size = layout.record_bytes if chance.random() < 0.3 else 400
        offset = layout.record_bytes - size if size == layout.record_bytes else 48
        data[start + offset:start + offset + size] = data[other + offset:other + offset + size]
    else:
        sector = at // 512 * 512
        data[sector:sector + 512] = bytes(512)
