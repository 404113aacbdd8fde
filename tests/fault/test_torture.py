# SPDX-License-Identifier: GPL-3.0-or-later
"""The n-th read, write, sync, open, close, growing file, mapping, rename or thread of winch fails,
or a read gives less than was asked for: a clean end with an exit code and a sentence, and the same
command resumes and finishes. Allocations are in test_memory.py."""
import errno
import os
import random
import subprocess

import pytest

import conftest
from world import LONG, SECONDS, Place, check_end, program

# How many of the calls of a kind are tried, at most, unless all are asked for.
TRIED = 5

# kind, errno, from then on, under which folder, exit codes beside 0 that are right
CASES = (
    ('alloc', errno.ENOMEM, True, None, (75,)),     # test_memory.py has the single ones
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
    ('read', errno.EINTR, False, 'image', ()),
    ('read', errno.EINTR, False, 'state', ()),
    ('write', errno.EINTR, False, 'state', ()),
    ('short', 0, False, 'image', ()),
    ('short', 0, False, 'state', (75,)),
    ('close', errno.EIO, False, 'state', (1, 75)),
    ('map', errno.ENOMEM, False, None, (75,)),
    ('map', errno.ENOMEM, True, None, (75,)),
    ('thread', errno.EAGAIN, False, None, (75,)),
    ('thread', errno.EAGAIN, True, None, (75,)),
)


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
    return sorted(everything[:2] + random.Random(seed).sample(everything[2:], TRIED - 2))


@pytest.mark.parametrize('case', CASES, ids=lambda case: '%s-%s%s%s' % (
    case[0], errno.errorcode.get(case[1], 'read'), '-rest' if case[2] else '',
    '-' + case[3] if case[3] else ''))
def test_call_fails(case, place):
    kind, number, rest, under, right = case
    name = '%s %s%s%s' % (kind, errno.errorcode.get(number, 'read'),
                          ' from then on' if rest else '',
                          ' in the %s' % under if under else '')
    for nth in chosen(place.count(kind, under), kind):
        faults = {'FAULT_CALL': kind, 'FAULT_NTH': nth, 'FAULT_ERRNO': number}
        if rest:
            faults['FAULT_REST'] = 1
        if under:
            faults['FAULT_UNDER'] = place.under(under)
        place.next()
        code, messages = place.run('torture' if kind == 'alloc' else 'winch', **faults)
        context = '%s, n = %d: ' % (name, nth)
        check_end(code, context + messages, right)
        if code == 0:
            assert place.objects() == place.reference, context + messages
        again, messages_again = place.run()
        assert again == 0, '%sthe second run: %s\nthe first: %s' % (
            context, messages_again, messages)
        assert place.objects() == place.reference, context + messages
        conftest.OUTCOMES[name]['exit %d' % code] += 1
    assert place.storage.stats()['parts_left'] == 0


@pytest.mark.parametrize('limit,right', (
    *((['ulimit', '-n', str(count)], (0, 75)) for count in range(4, 28, 4)),
    (['ulimit', '-v', '300000'], (0, 75)),
    (['ulimit', '-f', '200'], (0, 75)), (['ulimit', '-u', '1'], (0, 75)),
    (['ulimit', '-s', '256'], (0, 75))), ids=lambda value: ' '.join(map(str, value)))
def test_limits(limit, right, place):
    place.next()
    done = subprocess.run(['bash', '-c', ' '.join(limit) + ' && exec "$@"', 'limited',
                           *place.command(program('winch'))], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=place.environment(), timeout=SECONDS)
    messages = done.stderr.decode(errors='replace')
    check_end(done.returncode, ' '.join(limit) + ': ' + messages, right)
    if limit[1] == '-n' and done.returncode != 0:
        assert 'ulimit -n' in messages, messages
    again, messages_again = place.run()
    assert again == 0, messages_again
    assert place.objects() == place.reference
    conftest.OUTCOMES[' '.join(limit)]['exit %d' % done.returncode] += 1


@pytest.mark.parametrize('redirect', ('>/dev/full', '2>/dev/full', '>&-', '2>&-', '>&- 2>&-'))
def test_outputs_that_cannot_be_written(redirect, place):
    """Where the result cannot be told, the exit code says so; the data are there all the same."""
    place.next()
    done = subprocess.run(['sh', '-c', '"$@" ' + redirect, 'sh',
                           *place.command(program('winch'), '--json')], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=place.environment(), timeout=SECONDS)
    result_is_lost = '2>' not in redirect or redirect.startswith('>&-')
    assert (done.returncode != 0) == result_is_lost, (redirect, done.returncode, done.stderr)
    assert done.returncode in (0, 1, 75), done.returncode
    assert place.objects() == place.reference
    conftest.OUTCOMES['output ' + redirect]['exit %d' % done.returncode] += 1
