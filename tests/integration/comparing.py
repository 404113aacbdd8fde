# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare a bucket and its manifest with what an image is known to hold."""
import collections
import hashlib

import names


def has_object(line):
    return line['state'] == 'uploaded' or (line['state'] == 'failed' and 'generation' in line)


class Comparison:
    """Fill with compare(); `problems` is empty when everything agrees."""

    def __init__(self, bucket, manifest, prefix=''):
        self.bucket = bucket
        self.manifest = manifest
        self.prefix = prefix
        self.objects = bucket.list(prefix + '/' if prefix else '')
        self.lines = manifest.by_path()
        self.streams = manifest.stream_lines()
        self.problems = []
        self.uploaded = 0
        self.inline = 0
        self.reasons = collections.Counter()
        self.seen_objects = set()
        self.hashes = {}

    def problem(self, row, text):
        stream = ':%s' % row.stream.decode('utf-8', 'backslashreplace') if row.stream else ''
        self.problems.append('%r%s: %s' % (row.path, stream, text))

    def compare(self, rows):
        folders = {row.path for row in rows if row.want == 'dir'}
        for row in rows:
            line = self.lines.get(names.path(row.path, row.path in folders))
            if line is None:
                self.problem(row, 'no line in the manifest')
            elif row.stream:
                self.compare_stream(row, line)
            elif row.want == 'dir':
                self.compare_state(row, line, 'directory')
            elif row.want == 'link':
                self.compare_state(row, line, 'link')
            else:
                self.compare_file(row, line)
        self.check_nothing_else()
        return self

    def compare_state(self, row, line, state):
        if line['state'] != state:
            self.problem(row, 'state %s, wanted %s' % (line['state'], state))

    def compare_file(self, row, line):
        if line['state'] == 'name':
            first = self.lines.get(line.get('target'))
            if first is None or first['state'] == 'name':
                self.problem(row, 'a name whose target %r has no line' % line.get('target'))
                return
            line = first
        self.compare_data(row, line)

    def compare_data(self, row, line):
        """An object with the right bytes, or a line that says why not."""
        # An entry whose alternate stream failed has failed, and its own object stands all the same.
        if has_object(line) and 'data' in row.wants():
            self.check_object(row, line)
            self.uploaded += 1
        elif line['state'] in ('failed', 'excluded') and line.get('reason') in row.wants():
            self.reasons[line['reason']] += 1
            if line['state'] == 'failed' and not line.get('error'):
                self.problem(row, 'failed without a sentence')
        else:
            self.problem(row, 'state %s, reason %s (%s), wanted %s' % (
                line['state'], line.get('reason'), line.get('error'), row.want))

    def check_object(self, row, line):
        name = line['name']
        item = self.objects.get(name)
        if item is None:
            self.problem(row, 'no object %r' % name)
            return
        self.seen_objects.add(name)
        if not row.stream and not line.get('renamed') and '~' not in name:
            wanted = names.object_name(line['path'], self.prefix)
            if name != wanted:
                self.problem(row, 'object is named %r, wanted %r' % (name, wanted))
        for key, value in (('size', item['size']), ('generation', item['generation']),
                           ('crc32c', item['crc32c'])):
            if str(line.get(key)) != value:
                self.problem(row, 'the line says %s %s, the bucket %s'
                             % (key, line.get(key), value))
        if int(item['size']) != row.size:
            self.problem(row, 'object of %s bytes, wanted %d' % (item['size'], row.size))
        elif self.sha256(name) != row.sha256:
            self.problem(row, 'object has other content')

    def sha256(self, name):
        if name not in self.hashes:
            self.hashes[name] = self.bucket.sha256(name)
        return self.hashes[name]

    def compare_stream(self, row, line):
        if line['state'] == 'name':
            line = self.lines.get(line['target'], line)
        stream = names.component(row.stream, last=True)
        own = self.streams.get((line['path'], stream))
        inline = self.manifest.inline_streams(line)
        if own is not None:
            self.compare_data(row, own)
        elif stream in inline:
            if hashlib.sha256(inline[stream]).hexdigest() != row.sha256:
                self.problem(row, 'inline stream has other content')
            self.inline += 1
        elif line['state'] == 'excluded' and line['reason'] in row.wants():
            self.reasons[line['reason']] += 1
        else:
            self.problem(row, 'neither an object nor in the line of its file')

    def check_nothing_else(self):
        """Every object outside of .winch is somebody's, and no object has two owners."""
        root = (self.prefix + '/' if self.prefix else '') + '.winch/'
        owners = collections.Counter(line['name'] for line in self.manifest.lines
                                     if has_object(line))
        for name, count in owners.items():
            if count > 1:
                self.problems.append('%r belongs to %d lines' % (name, count))
        for name in self.objects:
            if name not in owners and not name.startswith(root):
                self.problems.append('%r is in the bucket and not in the manifest' % name)
        for name in owners:
            if name not in self.objects:
                self.problems.append('%r is in the manifest and not in the bucket' % name)

    def assert_equal(self):
        assert not self.problems, '%d problems:\n%s' % (
            len(self.problems), '\n'.join(self.problems[:30]))


def check_counts(result, manifest):
    """The sum, and the numbers of the JSON object against the lines of the manifest."""
    counts = result.json
    states = ('uploaded', 'directory', 'link', 'excluded', 'failed')
    keys = ('uploaded', 'directories', 'links', 'excluded', 'failed')
    total = counts['extension'] + sum(counts[key] for key in keys)
    assert total == counts['records_in_use'], counts
    assert counts['accepted'] <= counts['failed'], counts
    worst = collections.Counter(manifest.worst_states().values())
    for state, key in zip(states, keys):
        assert worst[state] == counts[key], (state, worst, counts)
    further = sum(1 for line in manifest.lines if line['state'] == 'name')
    assert further == counts['names'], (further, counts['names'])
    assert sum(counts['reasons'].values()) == counts['failed'], counts
