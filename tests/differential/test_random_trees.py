# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes of chance (tests/images/random_tree.py): everything that was put there is in the bucket
and the manifest, and nothing else.

A seed makes the same tree again: pytest tests/differential/test_random_trees.py --seed S --seeds 1,
or WINCH_SEED and WINCH_SEEDS. Without a number the test tries trees for half a minute, from seed 1;
WINCH_DIFFERENTIAL=long tries 200, from a seed by chance.
"""
import datetime
import os
import random
import re
import shutil
import subprocess
import time

import pytest

import count
import names
import ntfs_image
from comparing import Comparison, check_counts
from conftest import INTEGRATION_FIXTURES
from local_storage import LocalStorage
from manifest import Manifest
from migrated import Migrated, compare, unescape
from random_tree import File, Folder, RandomTree, Unusable
from readers import FIRST_FREE, FsNtfs, Icat, NtfsCat, output_of
from results import TREES
from winch_program import Winch

SECONDS = 32
LONG = 200
FIRST = 1               # the short run goes over known ground; the long one takes a seed by chance
READER_EVERY = 3        # one tree of so many is read by libfsntfs, too
ACCEPTED = ('same', 'refuses')
SHOWN = 300             # characters of a line about a problem
EPOCH = datetime.datetime(1970, 1, 1)
STANDARD_INFORMATION = '0x10'               # every record of a file has one
SMALL_ATTRIBUTES = ('0x20', '0x50')         # attribute list, security descriptor


def moment(text):
    """Nanoseconds since 1970 of a time in the manifest."""
    whole, _, part = text.rstrip('Z').partition('.')
    seconds = (datetime.datetime.fromisoformat(whole) - EPOCH).total_seconds()
    return int(seconds) * 10**9 + int(part.ljust(9, '0'))


def is_zeroed(image, record):
    """Can libntfs-3g itself not open that record, or does it read zeros in what has none?"""
    cat = [ntfs_image.find_program('ntfscat'), '-f', '-i', record, '-a']
    answers = [output_of([*cat, kind, image]) for kind in SMALL_ATTRIBUTES]
    return output_of([*cat, STANDARD_INFORMATION, image]).refused is not None or any(
        got.refused is None and got.zeros for got in answers)


def is_free(image, error):
    """Is the cluster that winch names free in $Bitmap, as libntfs-3g reads that?"""
    found = re.search(r'cluster (\d+) of its data is free', error)
    if not found:
        return False
    bitmap = subprocess.run([ntfs_image.find_program('ntfscat'), '-f', '-i', '6', image],
                            check=True, stdout=subprocess.PIPE).stdout
    cluster = int(found.group(1))
    return bitmap[cluster // 8] >> cluster % 8 & 1 == 0


class Trial:
    """One seed: `problems` is empty when all is right."""

    def __init__(self, seed, folder):
        self.seed = seed
        self.image = os.path.join(folder, 'tree-%d.img' % seed)
        self.state = os.path.join(folder, 'state')
        self.problems = []
        self.miswritten = 0     # streams that ntfs-3g did not write as told
        self.tree = RandomTree(seed, self.image).make()

    def run(self, fake_gcs, winch):
        storage = LocalStorage(fake_gcs)
        try:
            self.migrate(storage, Winch(winch, self.state))
        finally:
            storage.stop()
        return self

    def migrate(self, storage, winch):
        bucket = 'tree-%d-%d' % (os.getpid(), self.seed)
        result = winch.migrate(storage, self.image, 'gs://%s/p' % bucket, '--no-default-excludes',
                               expect=None)
        if result.exit != 0:
            self.problems.append(str(result))
        if result.exit not in (0, 3):
            return
        manifest = Manifest(storage.bucket(bucket), 'p')
        self.check_damage(manifest)
        self.problems += ['%r: %s' % (line.get('path', ''), line) for line in manifest.lines
                          if line['state'] == 'failed']
        comparison = Comparison(storage.bucket(bucket), manifest, 'p').compare(self.tree.rows())
        self.judge(comparison.problems, Migrated(storage.bucket(bucket), 'p'))
        self.check_lines(manifest)
        try:
            check_counts(result, manifest)
            self.check_records(result, manifest)
        except AssertionError as error:
            self.problems.append(str(error))

    def check_damage(self, manifest):
        """ntfs-3g at times leaves damage behind: an attribute list or a security descriptor of
        zeros, a list that names a record by a wrong number, clusters of a file that are free in
        $Bitmap. Where that explains all that winch calls damaged, the tree is none to compare
        with."""
        failed = [line for line in manifest.lines if line['state'] == 'failed']
        if not failed or any(line['reason'] not in ('bad-record', 'cross-linked')
                             for line in failed):
            return
        zeroed = {line['record'] for line in failed if is_zeroed(self.image, line['record'])}
        strays = [line for line in failed if 'base' in line and
                  str(int(line['base']) & (1 << 48) - 1) in zeroed]
        others = [line for line in failed if line['record'] not in zeroed and
                  line not in strays and not is_free(self.image, line['error'])]
        if all(self.is_lost_to_all(line, manifest) for line in others):
            raise Unusable('ntfs-3g left damage: %s' % [line['error'] for line in failed])

    def is_lost_to_all(self, line, manifest):
        """Does no other reader give the bytes that were written?"""
        readers = [reader for reader in (NtfsCat(), Icat(), FsNtfs()) if not reader.absent()]
        wanted = {}
        for row in self.tree.rows():
            if names.path(row.path, row.want == 'dir') == line.get('path'):
                wanted[row.stream] = (row.size, row.sha256)
        key = int(line['record']), unescape(line.get('stream', ''))
        answers = [reader.read(self.image, [key])[key] for reader in readers]
        return len(readers) == 3 and key[1] in wanted and all(
            (got.size, got.sha256) != wanted[key[1]] for got in answers)

    def judge(self, problems, found):
        """ntfs-3g at times does not write what it is told to. That, and nothing else, it is when
        three readers by others find what winch has found."""
        if not problems and self.seed % READER_EVERY:
            return
        keys = {key: stream for key, stream in found.streams.items() if stream.got}
        differs, asked_readers = {}, 0
        for reader in (NtfsCat(), Icat(), FsNtfs()):
            asked = keys if problems or reader.name == 'libfsntfs' else {}
            if reader.absent() or not asked:
                continue
            asked_readers += 1
            answers = reader.read(self.image, list(asked))
            for key, stream in asked.items():
                # Each refuses some names; other bytes are another thing.
                if stream.form != 'wof' and compare(stream, answers[key]) not in ACCEPTED:
                    differs[key] = '%r: %s reads %s, winch %s' % (
                        stream.path, reader.name, answers[key], stream.got)
        paths = {repr(row.path): names.path(row.path, row.want == 'dir')
                 for row in self.tree.rows()}
        for problem in problems:
            path = paths.get(problem.split(': ')[0].split(':')[0])
            if problem.endswith('content') and path and not differs and asked_readers == 3:
                self.miswritten += 1
            else:
                self.problems.append(problem)
        self.problems += list(differs.values())

    def check_lines(self, manifest):
        """Exactly the paths and streams of the tree; names, times and links of each."""
        lines = {path: line for path, line in manifest.by_path().items()
                 if line.get('reason') != 'system' and path != ''}
        wanted = {names.path(path, isinstance(node, Folder)): node
                  for path, node in self.tree.walk()}
        for path in lines.keys() - wanted.keys():
            self.problems.append('%r is in the manifest and was not on the disk' % path)
        for path, node in wanted.items():
            if path in lines:
                self.check_line(path, node, lines, manifest)

    def check_line(self, path, node, lines, manifest):
        line = lines[path]
        if line['state'] == 'name':
            line = lines.get(line['target'], line)
        links = node.names if isinstance(node, File) else 1
        if line.get('links', 1) != links:
            self.problems.append('%r: links %s, wanted %d' % (path, line.get('links'), links))
        found = set(manifest.inline_streams(line)) | {
            stream for of, stream in manifest.stream_lines() if of == line['path']}
        wanted = {names.component(name, last=True) for name in node.streams}
        if found != wanted:
            self.problems.append('%r: streams %s, wanted %s' % (
                path, sorted(found - wanted), sorted(wanted - found)))
        for key, value in zip(('atime', 'mtime'), node.times or ()):
            if moment(line[key]) != value:
                self.problems.append('%r: %s %s, wanted %d' % (path, key, line[key], value))

    def check_records(self, result, manifest):
        """The numbers beside those that were put there, and beside those of count.py."""
        nodes = {id(node): node for _, node in self.tree.walk()}.values()
        files = [node for node in nodes if isinstance(node, File)]
        states = [line['state'] for line in manifest.lines
                  if 'path' in line and int(line['record']) >= FIRST_FREE and
                  line.get('reason') != 'system' and 'stream' not in line]
        assert states.count('uploaded') == sum(not node.link for node in files), 'files'
        assert states.count('link') == sum(node.link for node in files), 'links'
        assert states.count('directory') == sum(isinstance(node, Folder) for node in nodes), 'dirs'
        assert states.count('name') == sum(node.names - 1 for node in files), 'names'
        counted = count.count_volume(self.image)
        assert result.json['records_in_use'] == counted.in_use, counted
        assert result.json['extension'] == counted.extension, counted

    def told(self):
        """What is wrong, what ntfs-3g itself reads there, and how to see it again."""
        text = ['seed %d (clusters of %d bytes, sectors of %d): %d problems' % (
            self.seed, self.tree.cluster, self.tree.sector, len(self.problems))]
        text += self.problems[:10]
        wrong = [row for row in self.tree.rows() if row.want == 'data' and
                 any(problem.startswith(repr(row.path)) for problem in self.problems)]
        options = 'streams_interface=windows'
        with ntfs_image.Mounted(self.image, options) as root:
            records = {row.path: os.lstat(os.path.join(root, row.path)).st_ino
                       for row in wrong[:10]}
        for row in wrong[:10]:
            key = (records[row.path], row.stream)
            got = NtfsCat().read(self.image, [key])[key]
            text.append('%r:%r was written as %d bytes %s, ntfscat reads %s' % (
                row.path, row.stream, row.size, row.sha256[:12], got))
            text += [str(each) for each in self.tree.done if row.path in each][-12:]
        text = [line if len(line) < SHOWN else line[:SHOWN // 2] + ' ... ' + line[-SHOWN // 2:]
                for line in text]
        text.append('again: tests/images/random_tree.py %d IMAGE; or --seed %d --seeds 1'
                    % (self.seed, self.seed))
        return '\n'.join(text)


def is_long():
    return os.environ.get('WINCH_DIFFERENTIAL') == 'long'


def chosen_seeds(config):
    """(first seed, how many or None for as many as fit into the time)."""
    first = config.getoption('--seed')
    chance = random.SystemRandom().randrange(10**6) if is_long() else FIRST
    if first is None:
        first = int(os.environ.get('WINCH_SEED') or chance)
    number = config.getoption('--seeds')
    if number is None and os.environ.get('WINCH_SEEDS'):
        number = int(os.environ['WINCH_SEEDS'])
    if number is None and is_long():
        number = LONG
    return first, number


def test_random_trees(request, tmp_path):
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    winch = INTEGRATION_FIXTURES.binary('WINCH', 'winch')
    fake_gcs = INTEGRATION_FIXTURES.binary('FAKE_GCS', 'fake-gcs')
    first, number = chosen_seeds(request.config)
    end = time.monotonic() + SECONDS
    seed, entries, size, miswritten, failed, unusable = first, 0, 0, 0, [], []
    while seed < first + number if number is not None else time.monotonic() < end:
        folder = tmp_path / str(seed)
        folder.mkdir()
        seed += 1
        try:
            trial = Trial(seed - 1, str(folder)).run(fake_gcs, winch)
        except Unusable as error:
            unusable.append('seed %d: %s' % (seed - 1, error))
            continue
        rows = trial.tree.rows()
        entries += len(rows)
        size += sum(row.size for row in rows)
        miswritten += trial.miswritten
        if trial.problems:
            failed.append(trial.told())
        shutil.rmtree(folder)
    TREES.append('seeds %d to %d: %d trees, %d streams and folders, %.1f MiB; %d trees differ' % (
        first, seed - 1, seed - first - len(unusable), entries, size / 1048576, len(failed)))
    TREES.extend('not written by ntfs-3g: ' + each[:200] for each in unusable[:5])
    if miswritten:
        TREES.append('%d streams were written by ntfs-3g other than told, and read by winch and '
                     'three others as written' % miswritten)
    assert not failed, '\n\n'.join(failed[:5])
    assert len(unusable) <= 2 + (seed - first) // 20, unusable
    assert miswritten <= max(40, entries // 50), 'the generator is wrong, not ntfs-3g'


def test_the_same_seed_gives_the_same_tree(tmp_path):
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    rows = [[row.line() for row in RandomTree(7, str(tmp_path / name)).make().rows()]
            for name in ('one', 'two')]
    assert rows[0] == rows[1]


def test_a_difference_is_noticed(tmp_path):
    """One byte, one name, one stream, one time other than expected: each is told."""
    missing = ntfs_image.why_no_mount()
    if missing:
        pytest.skip(missing)
    winch = INTEGRATION_FIXTURES.binary('WINCH', 'winch')
    fake_gcs = INTEGRATION_FIXTURES.binary('FAKE_GCS', 'fake-gcs')
    trial = Trial(3, str(tmp_path))
    files = [(path, node) for path, node in trial.tree.walk()
             if isinstance(node, File) and node.names == 1 and not node.packed and node.times]
    changed = [path for path, _ in files[:4]]
    files[0][1].data[:1] = bytes([files[0][1].data[0] ^ 1]) if files[0][1].data else b'more'
    files[1][1].streams[b'never'] = bytearray(b'written')
    files[2][1].times[1] += 100
    files[3][1].names += 1
    trial.tree.top.children[b'never written'] = File(b'x')
    problems = trial.run(fake_gcs, winch).problems
    # Where three readers are here, they take the disk's side about the content.
    assert trial.miswritten <= 1
    for path in changed[trial.miswritten:] + [b'never written']:
        shown = (repr(path), repr(names.path(path)))
        assert any(problem.startswith(shown) for problem in problems), (path, problems)
