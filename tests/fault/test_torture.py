# SPDX-License-Identifier: GPL-3.0-or-later
"""The n-th allocation, read, write, sync, open, growing file, rename or thread of winch fails: a
clean end with an exit code and a sentence, and the same command resumes and finishes."""
import errno
import os
import random
import subprocess

import pytest

import conftest
import contents
import expectation
import kinds
import ntfs_image
from local_storage import LocalStorage

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
SECONDS = 30
LONG = os.environ.get('WINCH_TORTURE') == 'long'
# How many of the calls of a kind are tried, at most, unless all are asked for.
TRIED = 8
BUCKET = 'torture'

# kind, errno, from then on, under which folder, exit codes beside 0 that are right
CASES = (
    ('alloc', errno.ENOMEM, False, None, (75,)),
    ('alloc', errno.ENOMEM, True, None, (75,)),
    ('read', errno.EIO, False, 'image', (3, 6, 75)),
    ('read', errno.EIO, True, 'image', (3, 6, 75)),
    ('read', errno.EIO, False, 'state', (1, 75)),
    ('write', errno.ENOSPC, True, 'state', (75,)),
    ('write', errno.ENOSPC, False, 'state', (75,)),
    ('write', errno.EIO, False, 'state', (1, 75)),
    ('sync', errno.EIO, False, 'state', (75,)),
    ('open', errno.EMFILE, False, 'state', (75,)),
    ('open', errno.EACCES, False, 'state', (1, 75)),
    ('open', errno.EIO, False, 'image', (6,)),
    ('grow', errno.ENOSPC, False, 'state', (75,)),
    ('grow', errno.ENOSPC, True, 'state', (75,)),
    ('rename', errno.EIO, False, 'state', (1, 75)),
    ('thread', errno.EAGAIN, False, None, (75,)),
    ('thread', errno.EAGAIN, True, None, (75,)),
)


def program(name):
    return os.path.join(TOP, 'build', name)


def torture_program():
    """With sanitizers where that is built, so that what an error path forgets is seen."""
    sanitized = os.path.join(TOP, 'build-sanitized', 'tests', 'fault', 'winch-torture')
    return sanitized if os.path.exists(sanitized) else program('tests/fault/winch-torture')


@pytest.fixture(scope='module', name='image')
def fixture_image(tmp_path_factory):
    why = ntfs_image.why_no_mount()
    if why:
        pytest.skip(why)
    path = str(tmp_path_factory.mktemp('torture') / 'image' / 'disk.img')
    os.mkdir(os.path.dirname(path))
    ntfs_image.make_volume(path, 16 * MIB, 'TORTURE')
    tree = expectation.Tree()
    with ntfs_image.Mounted(path, 'streams_interface=windows,compression') as tree.root:
        for size in (0, 1, 700, 5000, 100000, 2 * MIB):
            tree.file('size-%d.bin' % size, contents.noise(size, size))
        tree.stream('size-700.bin', 'Zone.Identifier', b'ZoneId=3')
        tree.stream('size-700.bin', 'large', contents.noise(9, 9000))
        tree.directory('lznt1')
        tree.attribute('lznt1', 'system.ntfs_attrib_be', kinds.COMPRESSED)
        tree.file('lznt1/text.txt', contents.text(2000))
        os.link(tree.at('size-5000.bin'), tree.at('another name'))
        # Large enough for parts; nearly all of it is one hole.
        tree.pieces('large.bin', [(0, b'begin'), (65 * MIB, b'end')], 66 * MIB)
    return path


class Place:
    """A server, and a state folder anew for each run."""

    def __init__(self, folder, image):
        self.folder, self.image = str(folder), image
        self.storage = LocalStorage(program('fake-gcs'), '--dir',
                                    os.path.join(self.folder, 'bucket'))
        self.number = 0
        self.reference = None
        self.counts = {}

    def state(self):
        return os.path.join(self.folder, 'state%d' % self.number)

    def command(self, winch, *options):
        """The same options each time: with others a run would not be continued."""
        return [winch, 'migrate', self.image, 'gs://%s/p%d' % (BUCKET, self.number),
                '--state-dir', self.state(), '--connections', '3', '--part-size', '32M',
                '--progress', 'none', *options]

    def environment(self, **more):
        return dict(os.environ, STORAGE_EMULATOR_HOST=self.storage.url, TMPDIR=self.folder, **more)

    def run(self, winch='winch', **faults):
        """(exit code, messages)"""
        environment = self.environment(**{key: str(value) for key, value in faults.items()})
        if faults and winch == 'winch':
            environment['LD_PRELOAD'] = program('tests/fault/failing_calls.so')
        path = torture_program() if winch != 'winch' else program('winch')
        done = subprocess.run(self.command(path), check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                              timeout=SECONDS)
        return done.returncode, done.stderr.decode(errors='replace')

    def objects(self):
        """{name below the prefix: (size, crc32c)} without the run's own, and without the text that
        names the prefix."""
        prefix = 'p%d/' % self.number
        return {name[len(prefix):]: (item['size'], item['crc32c']) for name, item in
                self.storage.bucket(BUCKET).list(prefix).items()
                if not name.startswith((prefix + '.winch/runs/', prefix + '.winch/README.txt'))}

    def learn(self):
        """An undisturbed run: what the bucket holds then, and how many calls of each kind."""
        for winch in ('torture', 'winch'):
            counts = os.path.join(self.folder, 'counts')
            code, messages = self.run(winch, FAULT_COUNTS=counts)
            assert code == 0, messages
            with open(counts, encoding='ascii') as stream:
                found = dict(line.split() for line in stream)
            kinds_here = ('alloc',) if winch != 'winch' else [k for k in found if k != 'alloc']
            self.counts.update({kind: int(found[kind]) for kind in kinds_here})
            self.reference = self.objects()
            self.number += 1
        assert len(self.reference) >= 9, self.reference

    def close(self):
        assert self.storage.stop()


@pytest.fixture(scope='module', name='place')
def fixture_place(tmp_path_factory, image):
    place = Place(tmp_path_factory.mktemp('torture-state'), image)
    place.learn()
    yield place
    place.close()


def chosen(count, seed):
    """Which of `count` calls are broken: the first ones, and some of the others."""
    everything = list(range(1, count + 1))
    if LONG or count <= TRIED:
        return everything
    return sorted(everything[:4] + random.Random(seed).sample(everything[4:], TRIED - 4))


def check_end(code, messages, right):
    assert 'Sanitizer' not in messages and 'runtime error' not in messages, messages
    assert code == 0 or code in right, (code, messages)
    if code != 0:
        said = messages[messages.index('winch'):] if 'winch' in messages else ''
        assert len(said) > 50, messages


@pytest.mark.parametrize('case', CASES, ids=lambda case: '%s-%s%s%s' % (
    case[0], errno.errorcode[case[1]], '-rest' if case[2] else '',
    '-' + case[3] if case[3] else ''))
def test_call_fails(case, place):
    kind, number, rest, under, right = case
    name = '%s %s%s%s' % (kind, errno.errorcode[number], ' from then on' if rest else '',
                          ' in the %s' % under if under else '')
    for nth in chosen(place.counts[kind], kind):
        faults = {'FAULT_CALL': kind, 'FAULT_NTH': nth, 'FAULT_ERRNO': number}
        if rest:
            faults['FAULT_REST'] = 1
        if under:
            faults['FAULT_UNDER'] = (os.path.dirname(place.image) if under == 'image'
                                     else place.folder)
        place.number += 1
        code, messages = place.run('torture' if kind == 'alloc' else 'winch', **faults)
        context = '%s, n = %d: ' % (name, nth)
        check_end(code, context + messages, right)
        again, messages_again = place.run()
        assert again == 0, '%sthe second run: %s\nthe first: %s' % (
            context, messages_again, messages)
        assert place.objects() == place.reference, context + messages
        conftest.OUTCOMES[name]['exit %d' % code] += 1
    assert place.storage.stats()['parts_left'] == 0


@pytest.mark.parametrize('limit,right', (
    (['ulimit', '-n', '20'], (0, 75)), (['ulimit', '-v', '300000'], (0, 75)),
    (['ulimit', '-f', '200'], (0, 75)), (['ulimit', '-u', '1'], (0, 75)),
    (['ulimit', '-s', '256'], (0, 75))), ids=lambda value: ' '.join(map(str, value)))
def test_limits(limit, right, place):
    place.number += 1
    done = subprocess.run(['bash', '-c', ' '.join(limit) + ' && exec "$@"', 'limited',
                           *place.command(program('winch'))], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=place.environment(), timeout=SECONDS)
    messages = done.stderr.decode(errors='replace')
    check_end(done.returncode, ' '.join(limit) + ': ' + messages, right)
    again, messages_again = place.run()
    assert again == 0, messages_again
    assert place.objects() == place.reference
    conftest.OUTCOMES[' '.join(limit)]['exit %d' % done.returncode] += 1


@pytest.mark.parametrize('redirect', ('>/dev/full', '2>/dev/full', '>&-', '2>&-', '>&- 2>&-'))
def test_outputs_that_cannot_be_written(redirect, place):
    """Where the result cannot be told, the exit code says so; the data are there all the same."""
    place.number += 1
    done = subprocess.run(['sh', '-c', '"$@" ' + redirect, 'sh',
                           *place.command(program('winch'), '--json')], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=place.environment(), timeout=SECONDS)
    result_is_lost = '2>' not in redirect or redirect.startswith('>&-')
    assert (done.returncode != 0) == result_is_lost, (redirect, done.returncode, done.stderr)
    assert done.returncode in (0, 1, 75), done.returncode
    assert place.objects() == place.reference
    conftest.OUTCOMES['output ' + redirect]['exit %d' % done.returncode] += 1
