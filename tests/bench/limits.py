#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""winch beside the limit of libcurl alone: both in turn, against the same local server.

Usage: limits.py [--rounds N] [--work big|many|middle]... [--cache DIR] [--smoke]

Images are made once and kept in the cache folder (default: build/bench). Absolute seconds move with
the machine, so what counts is the ratio of each pair. winch's time is the whole process: scan,
upload, manifest. --smoke takes small images and one round, and only asks that all of it works.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, 'tests', 'integration'), os.path.join(TOP, 'tests', 'images')]

import mkimages                             # noqa: E402
import ntfs_image                           # noqa: E402
from local_storage import LocalStorage      # noqa: E402
from winch_program import Winch             # noqa: E402

MIB, GIB = 1 << 20, 1 << 30


class Work:
    """One image, and what libcurl alone has to send for the same bytes."""

    def __init__(self, name, maker, sizes, curl, budget):
        self.name = name
        self.maker = maker
        self.sizes = sizes
        self.curl = curl
        self.budget = budget      # seconds that the design allows winch, or None
        self.image = None

    def make(self, cache):
        """The image, made now unless it is in the cache; then read once, so that it is warm."""
        folder = os.path.join(cache, '-'.join([self.name, *map(str, self.sizes)]))
        self.image = os.path.join(folder, self.name + '.img')
        if not os.path.exists(os.path.join(folder, 'done')):
            os.makedirs(folder, exist_ok=True)
            self.maker(folder, *self.sizes)
            open(os.path.join(folder, 'done'), 'wb').close()
        with open(self.image, 'rb') as stream:
            while stream.read(8 * MIB):
                pass


def make_middle(out, count, size):
    mkimages.make_many(out, count, size)
    for ending in ('.img', '.tsv'):
        os.rename(os.path.join(out, 'many' + ending), os.path.join(out, 'middle' + ending))


def full_works():
    return {
        'big': Work('big', mkimages.make_big, (4 * GIB,),
                    lambda work: ('large', work.image, 4 * GIB, 8, 32 * MIB), 1.2),
        'many': Work('many', mkimages.make_many, (50000, 4096),
                     lambda work: ('small', 50000, 4096, 64), 2.0),
        'middle': Work('middle', make_middle, (5000, 644245),
                       lambda work: ('small', 5000, 644245, 16), 1.6),
    }


def smoke_works():
    return {
        'big': Work('big', mkimages.make_big, (96 * MIB,),
                    lambda work: ('large', work.image, 96 * MIB, 4, 8 * MIB), None),
        'many': Work('many', mkimages.make_many, (1000, 4096),
                     lambda work: ('small', 1000, 4096, 8), None),
    }


class Measured:
    def __init__(self, seconds, cpu, memory_mib):
        self.seconds = seconds
        self.cpu = cpu
        self.memory_mib = memory_mib


def measure(command, environment):
    """Run to the end; wall clock, processor seconds and the peak of the process's memory."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        pid = os.posix_spawn(command[0], command, environment, file_actions=[
            (os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - start
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            output.seek(0)
            raise RuntimeError('%s ended with %d: %s' % (
                ' '.join(command), code, output.read()[-1000:].decode(errors='replace')))
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_curl(program, fake, work):
    storage = LocalStorage(fake, '--discard')
    try:
        kind, *arguments = work.curl(work)
        return measure([program, kind, storage.url, *map(str, arguments)], dict(os.environ))
    finally:
        storage.stop()


def run_winch(program, fake, work):
    storage = LocalStorage(fake, '--discard')
    state = tempfile.mkdtemp(prefix='winch-bench-')
    try:
        winch = Winch(program, state)
        command = winch.migrate_command(work.image, 'gs://bench-%d/p' % os.getpid())
        result = measure(command, winch.environment(storage))
        stats = storage.stats()
        if stats['parts_left'] or stats['max_inserts_per_object'] > 1:
            raise RuntimeError('not a clean run: %s' % stats)
        return result
    finally:
        storage.stop()
        shutil.rmtree(state)


def compare(work, programs, rounds):
    """Print each pair, then the medians. The order within a pair changes each round."""
    ratios, winches, curls = [], [], []
    for number in range(rounds):
        first_curl = number % 2 == 0
        if first_curl:
            curl = run_curl(programs['curl-limit'], programs['fake-gcs'], work)
        winch = run_winch(programs['winch'], programs['fake-gcs'], work)
        if not first_curl:
            curl = run_curl(programs['curl-limit'], programs['fake-gcs'], work)
        ratios.append(winch.seconds / curl.seconds)
        winches.append(winch)
        curls.append(curl)
        print('%-7s round %d: winch %6.2f s (cpu %5.2f s, peak %4.0f MiB), libcurl alone %6.2f s, '
              'ratio %.2f' % (work.name, number + 1, winch.seconds, winch.cpu, winch.memory_mib,
                              curl.seconds, ratios[-1]), flush=True)
    print('%-7s median : winch %6.2f s, libcurl alone %6.2f s, ratio %.2f (%.2f to %.2f), peak '
          '%.0f MiB%s' % (work.name, statistics.median(w.seconds for w in winches),
                          statistics.median(c.seconds for c in curls), statistics.median(ratios),
                          min(ratios), max(ratios), max(w.memory_mib for w in winches),
                          ', budget %.1f s' % work.budget if work.budget else ''), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--work', action='append', choices=sorted(full_works()))
    parser.add_argument('--cache', default=os.path.join(TOP, 'build', 'bench'))
    parser.add_argument('--smoke', action='store_true')
    return parser.parse_args()


def main():
    options = parse_arguments()
    programs = {name: os.environ.get(name.upper().replace('-', '_'),
                                     os.path.join(TOP, 'build', name))
                for name in ('winch', 'fake-gcs', 'curl-limit')}
    missing = [path for path in programs.values() if not os.access(path, os.X_OK)]
    reason = ntfs_image.why_no_mount() or (missing and 'not built: ' + ', '.join(missing))
    works = smoke_works() if options.smoke else full_works()
    names = options.work or (sorted(works) if options.smoke else ['big', 'many'])
    if reason:
        print('SKIPPED [%d] bench: %s' % (len(names), reason))
        print('0 passed, 0 failed, %d skipped' % len(names))
        return 0
    failed = 0
    for name in names:
        try:
            works[name].make(options.cache)
            compare(works[name], programs, 1 if options.smoke else options.rounds)
        except RuntimeError as error:
            failed += 1
            print('FAILED %s: %s' % (name, error))
    print('%d passed, %d failed, 0 skipped' % (len(names) - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
