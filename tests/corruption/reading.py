# SPDX-License-Identifier: GPL-3.0-or-later
"""An own small reader of NTFS, to judge by: records, runlists, claims, plain contents. It reads
what is simple and refuses the rest, so that it can be read at a glance."""
import struct

DATA = 0x80
LIST = 0x20


class Volume:
    def __init__(self, data):
        self.data = data
        self.sector = struct.unpack_from('<H', data, 11)[0]
        shift = data[13]
        self.cluster = self.sector * (shift if shift < 0x80 else 1 << (256 - shift))
        size = struct.unpack_from('<b', data, 64)[0]
        self.record_bytes = size * self.cluster if size > 0 else 1 << -size
        start = struct.unpack_from('<Q', data, 48)[0] * self.cluster
        self.table = self.extents(self.attribute(self.fixed(start), DATA, b''))

    def fixed(self, at):
        """A record without its fix-ups, or None."""
        record = bytearray(self.data[at:at + self.record_bytes])
        if len(record) < self.record_bytes or record[:4] != b'FILE':
            return None
        array, count = struct.unpack_from('<HH', record, 4)
        if count != self.record_bytes // 512 + 1 or array + 2 * count > len(record):
            return None
        for i in range(1, count):
            if record[512 * i - 2:512 * i] != record[array:array + 2]:
                return None
            record[512 * i - 2:512 * i] = record[array + 2 * i:array + 2 * i + 2]
        return bytes(record)

    def record(self, number):
        offset = number * self.record_bytes
        for cluster, count in self.table:
            if offset < count * self.cluster:
                return self.fixed(cluster * self.cluster + offset)
            offset -= count * self.cluster
        return None

    def attributes(self, record):
        at = struct.unpack_from('<H', record, 20)[0]
        while at + 8 <= len(record):
            kind, length = struct.unpack_from('<II', record, at)
            if kind == 0xFFFFFFFF or length < 24 or at + length > len(record):
                return
            yield kind, record[at:at + length]
            at += length

    def attribute(self, record, wanted, name):
        """The only one of that type and name, or None; None too with an attribute list."""
        found = []
        for kind, body in self.attributes(record) if record else ():
            if kind == LIST:
                return None
            own = body[struct.unpack_from('<H', body, 10)[0]:][:2 * body[9]]
            if kind == wanted and own == name:
                found.append(body)
        return found[0] if len(found) == 1 else None

    def extents(self, body):
        """[(cluster or None, clusters)] of a non-resident attribute, or None."""
        if body is None or body[8] != 1:
            return None
        at = struct.unpack_from('<H', body, 32)[0]
        runs, place = [], 0
        while at < len(body) and body[at] != 0:
            size, step = body[at] & 15, body[at] >> 4
            if size == 0 or size > 8 or step > 8 or at + 1 + size + step > len(body):
                return None
            count = int.from_bytes(body[at + 1:at + 1 + size], 'little', signed=True)
            move = body[at + 1 + size:at + 1 + size + step]
            place += int.from_bytes(move, 'little', signed=True)
            if count <= 0 or place < 0:
                return None
            runs.append((place if step else None, count))
            at += 1 + size + step
        return runs

    def plain(self, number, name):
        """(content, extents) of a stream that is neither compressed nor encrypted, or None."""
        body = self.attribute(self.record(number), DATA, name.encode('utf-16-le'))
        if body is None or struct.unpack_from('<H', body, 12)[0] & 0x40FF:
            return None
        if body[8] == 0:
            size, at = struct.unpack_from('<IH', body, 16)
            return body[at:at + size], []
        runs = self.extents(body)
        _, size, valid = struct.unpack_from('<QQQ', body, 40)
        if runs is None or size > 64 << 20:
            return None
        pieces = [bytes(count * self.cluster) if place is None else
                  self.data[place * self.cluster:(place + count) * self.cluster]
                  for place, count in runs]
        content = b''.join(pieces)[:min(valid, size)]
        return content.ljust(size, b'\0'), runs

    def bitmap(self):
        """The content of $Bitmap, or None."""
        found = self.plain(6, '')
        return found[0] if found else None
