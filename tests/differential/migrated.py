# SPDX-License-Identifier: GPL-3.0-or-later
"""What winch made of a volume, read back from the bucket: SHA-256 per stream, by record number."""
import http.client
import re

from manifest import Manifest
from readers import BLOCK, Digest

ESCAPED = re.compile('%u([0-9A-F]{4})')


def unescape(text):
    """The name as bytes, where a lone surrogate is three of them."""
    units = ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text)
    return units.encode('utf-16le', 'surrogatepass').decode('utf-16le', 'surrogatepass').encode(
        'utf-8', 'surrogatepass')


def read_object(bucket, name):
    """An object is hashed as it comes: some are larger than memory should be."""
    digest = Digest()
    connection = http.client.HTTPConnection('127.0.0.1', bucket.storage.port, timeout=120)
    connection.request('GET', bucket.path(name) + '?alt=media')
    reply = connection.getresponse()
    assert reply.status == 200, (name, reply.status)
    for block in iter(lambda: reply.read(BLOCK), b''):
        digest.add(block)
    connection.close()
    return digest.got()


class Stream:
    """A stream of the manifest: `got` is None where winch names a reason instead."""

    def __init__(self, path, form, got, reason):
        self.path = path
        self.form = form
        self.got = got
        self.reason = reason


class Migrated:
    """`streams`: {(record, stream name): Stream}; `entries`: the records of files and folders."""

    def __init__(self, bucket, prefix):
        self.bucket = bucket
        self.manifest = Manifest(bucket, prefix)
        self.streams = {}
        self.entries = {}
        for line in self.manifest.lines:
            if line['state'] != 'name' and 'path' in line:
                self.add_line(line)

    def add_line(self, line):
        record = int(line['record'])
        stream = unescape(line.get('stream', ''))
        if 'stream' not in line and line.get('reason') != 'system':
            self.entries[record] = line
        if 'generation' in line:
            self.add(record, stream, line, read_object(self.bucket, line['name']))
        elif line['state'] == 'failed':
            self.add(record, stream, line, None)
        for name, data in self.manifest.inline_streams(line).items():
            digest = Digest()
            digest.add(data)
            self.add(record, unescape(name), line, digest.got())

    def add(self, record, stream, line, got):
        key = (record, stream)
        assert key not in self.streams, (key, line)
        self.streams[key] = Stream(line['path'], line.get('form', ''), got,
                                   None if got else line['reason'])


def compare(stream, got):
    """One word about what a reader gave, with winch's own as the measure."""
    if got.refused is not None:
        return 'refuses'
    if stream.got is None:
        # winch says that the content cannot be had; whoever gives bytes gives wrong ones.
        return 'wrong (empty)' if got.size == 0 else 'wrong (zeros)' if got.zeros else 'wrong'
    if (got.size, got.sha256) == (stream.got.size, stream.got.sha256):
        return 'same'
    return 'wrong (zeros)' if got.zeros else 'wrong'
