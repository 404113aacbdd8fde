# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what a run left in the bucket, from run.json down to each line, and check that chain."""
import base64
import gzip
import hashlib
import json

SEVERITY = {'uploaded': 0, 'directory': 0, 'link': 0, 'excluded': 0, 'failed': 1}


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    """As Cloud Storage writes it. Slow: for small things only."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, 'big')).decode()


def base_name(name):
    return name.rsplit('/', 1)[-1]


class Manifest:
    """`lines` of the newest run, or of `run`, below a prefix of a bucket."""

    def __init__(self, bucket, prefix='', run=None, strays=False):
        self.bucket = bucket
        self.strays = strays    # nobody may delete what earlier sessions or segments left
        self.root = (prefix + '/' if prefix else '') + '.winch/runs/'
        self.objects = bucket.list(self.root)
        self.run = run or self.newest()
        self.folder = self.root + self.run + '/'
        self.run_json = json.loads(bucket.get(self.folder + 'run.json'))
        self.index = self.read_index()
        self.lines = []
        self.security = []
        self.read_parts()
        self.check_order()

    def newest(self):
        runs = sorted(name.split('/')[-2] for name in self.objects if name.endswith('/run.json'))
        assert runs, 'no run is committed: %s' % sorted(self.objects)[:5]
        return runs[-1]

    def read_index(self):
        """index.json, which must be the very one that run.json names."""
        named = self.run_json['index']
        name = named['name']
        assert self.strays or name == self.folder + 'index.json', name
        data = self.bucket.get(name)
        assert named['sha256'] == hashlib.sha256(data).hexdigest(), 'run.json names another index'
        assert str(named['generation']) == self.objects[name]['generation']
        return json.loads(data)

    def read_parts(self):
        described = {part['name']: part for part in [*self.index['files'], self.index['security']]}
        there = {base_name(name) for name in self.objects if name.startswith(self.folder)}
        listed = {name for name in there if name.startswith(('manifest-', 'security'))}
        assert self.strays or listed <= set(described), 'not in index.json: %s' % listed
        assert set(described) <= there, 'only in index.json: %s' % (set(described) - there)
        assert self.strays or not any('segments/' in name for name in self.objects
                                      if name.startswith(self.folder)), 'segments are left'
        for name in sorted(described):
            lines = self.read_part(self.folder + name, described[name])
            (self.security if name.startswith('security') else self.lines).extend(lines)

    def read_part(self, name, part):
        data = self.bucket.get(name)
        item = self.objects[name]
        assert part['sha256'] == hashlib.sha256(data).hexdigest(), name
        assert int(part['size']) == len(data) == int(item['size']), name
        assert part['crc32c'] == item['crc32c'], name
        assert str(part['generation']) == item['generation'], name
        rows = [json.loads(line) for line in gzip.decompress(data).splitlines()]
        head, rows = rows[0], rows[1:]
        assert head['schema'].startswith('winch-'), head
        assert head['run'] == self.run, head
        assert int(part['lines']) in (len(rows), len(rows) + 1), (name, part, len(rows))
        if rows and 'first' in part and 'manifest-' in name:
            assert part['first'] == rows[0].get('path', ''), part
            assert part['last'] == rows[-1].get('path', ''), part
        return rows

    def check_order(self):
        # A record that is no good has a line without a path: those come first.
        paths = [line.get('path', '').encode() for line in self.lines]
        assert paths == sorted(paths), 'the manifest is not sorted by path'

    def by_path(self):
        return {line['path']: line for line in self.lines
                if 'stream' not in line and 'path' in line}

    def stream_lines(self):
        return {(line['path'], line['stream']): line for line in self.lines if 'stream' in line}

    def worst_states(self):
        """{(volume, record): state} where a record takes the worst state of its lines."""
        worst = {}
        for line in self.lines:
            if line['state'] == 'name':
                continue
            key = (line.get('volume'), line['record'])
            if 'stream' in line and line['state'] != 'failed':
                worst.setdefault(key, None)
                continue
            if worst.get(key) is None or SEVERITY[line['state']] > SEVERITY[worst[key]]:
                worst[key] = line['state']
        return worst

    def inline_streams(self, line):
        """{stream: bytes} that stand in a line, each checked against what is said of it."""
        out = {}
        for stream in line.get('streams', ()):
            if 'base64' not in stream and stream.get('size', 0) != 0:
                continue
            data = base64.b64decode(stream.get('base64', ''), validate=True)
            assert len(data) == stream['size'], stream
            assert stream['crc32c'] == crc32c(data), stream
            out[stream['stream']] = data
        return out
