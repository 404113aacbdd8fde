# SPDX-License-Identifier: GPL-3.0-or-later
"""Each allocation of winch's own code fails in turn, with sanitizers and leak checks: in a fresh
run, in one that is continued from its journal, and in one whose state folder was lost. Then some of
all allocations of the process, those of its libraries included."""
import concurrent.futures
import errno
import gzip
import json
import random
import shutil

import pytest

import conftest
from manifest import Manifest
from world import LONG, Place, check_end

PLACES = 2          # at the same time: one for each core
SECONDS_MAX = 8     # of each situation, unless all are asked for
PROCESS_SECONDS = 900   # then still: all are too many
SEED = 7


class MemoryPlace(Place):
    """Brings a run into one of the situations."""

    def __init__(self, folder, image, name):
        super().__init__(folder, image, name)
        self.learn()
        self.lines = [line for line in Manifest(self.bucket(), self.prefix()).lines
                      if line.get('state') == 'uploaded' and 'name' in line]
        self.first_prefix = self.prefix()

    def fresh(self):
        self.next()

    def continued(self):
        """What stops the run comes late; one object is refused, so that some work is left."""
        self.next()
        self.arm({'method': 'POST', 'name_contains': 'size-100000.bin'},
                 {'method': 'POST', 'name_contains': '/manifest-00000'})
        code, messages = self.run()
        self.storage.request('DELETE', '/_fake/faults')
        assert code not in (0, 3), (code, messages)

    def rebuilt(self):
        """A second segment says what the objects in the bucket are, as one would after 10 s."""
        self.continued()
        shutil.rmtree(self.state())
        bucket, prefix = self.bucket(), self.prefix() + '/'
        there = bucket.list(prefix)
        first = [name for name in there if name.endswith('/segments/00000.jsonl.gz')]
        assert len(first) == 1, sorted(there)
        lines = [gzip.decompress(bucket.get(first[0])).decode()]
        for line in self.lines:
            name = prefix + line['name'][len(self.first_prefix) + 1:]
            if name in there:
                lines.append(json.dumps(dict(line, name=name, generation=there[name]['generation']))
                             + '\n')
        assert len(lines) > 5, sorted(there)
        bucket.put(first[0].replace('00000', '00001'), gzip.compress(''.join(lines).encode()))

    def arm(self, *matches):
        lines = [json.dumps(dict(match, action='status', status=400)) for match in matches]
        self.storage.request('POST', '/_fake/faults', '\n'.join(lines).encode())

    def allocations(self, situation, winch):
        getattr(self, situation)()
        counts = self.folder + '/counts'
        code, messages = self.run(winch, FAULT_COUNTS=counts)
        assert code == 0, messages
        assert self.objects() == self.reference
        with open(counts, encoding='ascii') as stream:
            return int(dict(line.split() for line in stream)['alloc'])

    def fail(self, situation, winch, nth):
        """How the run ended whose n-th allocation failed."""
        getattr(self, situation)()
        code, messages = self.run(winch, FAULT_CALL='alloc', FAULT_NTH=nth,
                                  FAULT_ERRNO=errno.ENOMEM)
        context = '%s, allocation %d: ' % (situation, nth)
        if code >= 0:
            check_end(code, context + messages, (75,))
        if code == 0:
            assert self.objects() == self.reference, context + messages
        again, messages_again = self.run()
        assert again == 0, '%sthe second run: %s\nthe first: %d %s' % (
            context, messages_again, code, messages)
        assert self.objects() == self.reference, context + messages
        return code, context + messages


@pytest.fixture(scope='module', name='places')
def fixture_places(tmp_path_factory, image):
    places = [MemoryPlace(tmp_path_factory.mktemp('memory'), image, '-memory-%d' % number)
              for number in range(PLACES)]
    yield places
    for place in places:
        place.close()


def fail_in_turn(places, situation, winch, seconds):
    """All n, in an order by chance that ends with the time."""
    count = places[0].allocations(situation, winch)
    numbers = list(range(1, count + 1))
    random.Random(SEED).shuffle(numbers)
    limit = None if seconds == 0 else conftest.seconds_from_now(seconds)
    outcomes = []

    def work(place):
        while numbers and (limit is None or conftest.seconds_from_now(0) < limit):
            try:
                nth = numbers.pop()
            except IndexError:
                return
            outcomes.append((nth, *place.fail(situation, winch, nth)))
    with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
        for done in [pool.submit(work, place) for place in places]:
            done.result()
    for place in places:
        assert place.storage.stats()['parts_left'] == 0
    return count, outcomes


@pytest.mark.parametrize('situation', ('fresh', 'continued', 'rebuilt'))
def test_own_allocations(situation, places):
    count, outcomes = fail_in_turn(places, situation, 'torture', 0 if LONG else SECONDS_MAX)
    for _, code, messages in outcomes:
        assert code in (0, 75), messages
        conftest.OUTCOMES['own allocation, %s (of %d)' % (situation, count)]['exit %d' % code] += 1


@pytest.mark.parametrize('situation', ('fresh', 'rebuilt'))
def test_all_allocations(situation, places):
    """Some are missed by libraries without harm, and the run ends well."""
    count, outcomes = fail_in_turn(places, situation, 'winch',
                                   PROCESS_SECONDS if LONG else SECONDS_MAX)
    name = 'any allocation, %s (of %d)' % (situation, count)
    for nth, code, messages in outcomes:
        assert code in (0, 75), (nth, code, messages)
        conftest.OUTCOMES[name]['exit %d' % code] += 1
