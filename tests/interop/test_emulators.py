# SPDX-License-Identifier: GPL-3.0-or-later
"""winch against emulators that are not ours: it proves what it uploaded, or says why it cannot.

A refusal is a right outcome where an emulator departs from Cloud Storage: what must never be is
success without the bytes. Where the outcome depends on the emulator the table tells which it was.
"""
import json

import pytest

import clients
from comparing import Comparison, has_object
from emulators import Emulator, Front
from local_storage import BUCKET
from manifest import Manifest
from table import EMULATED, EMULATORS
from world import LEFT_OUT

COMPOSED = 'plain/large.bin'
PART_SIZE = ('--part-size', '2M')
REFUSALS = (4, 5, 75)


@pytest.fixture
def emulator(name, tmp_path):
    missing = clients.why_not_installed(name)
    if missing:
        EMULATED.version(name, 'skipped: ' + missing)
        pytest.skip(missing)
    EMULATED.version(name, clients.what_is_installed(name))
    running = Emulator(name, tmp_path)
    yield running
    running.stop()


@pytest.fixture
def front(emulator):
    front = Front(emulator)
    yield front
    front.stop()


@pytest.fixture
def image(kinds_image):
    if kinds_image[0] is None:
        pytest.skip(kinds_image[1])
    return kinds_image


def prove(emulator, rows, prefix, left_out):
    """What the emulator gives back is what was put on the disk."""
    bucket = emulator.bucket()
    manifest = Manifest(bucket, prefix)
    rows = [row for row in rows if row.path.decode('utf-8', 'replace') not in left_out]
    comparison = Comparison(bucket, manifest, prefix).compare(rows)
    comparison.assert_equal()
    assert comparison.uploaded > 50, comparison.uploaded
    return manifest


def committed(emulator, prefix):
    return [name for name in emulator.bucket().list(prefix + '/') if name.endswith('/run.json')]


def run(winch, server, image, prefix, left_out, *options):
    excluded = [word for path in left_out for word in ('--exclude', path)]
    return winch.migrate(server, image, 'gs://%s/%s' % (BUCKET, prefix), *PART_SIZE, *excluded,
                         '--no-default-excludes', *options, expect=None)


def judge(name, operation, result, emulator, rows, prefix, left_out, before=()):
    """Proven, or refused in words and without a commit mark; anything else fails."""
    if result.exit in (0, 3):
        manifest = prove(emulator, rows, prefix, left_out)
        assert result.json['uploaded'] <= sum(map(has_object, manifest.lines)), result
        EMULATED.add(name, operation, 'ok')
        return True
    assert result.exit in REFUSALS, str(result)
    assert sorted(committed(emulator, prefix)) == sorted(before), 'refused, and yet committed'
    said = result.json['error']
    assert said in result.err and ('server' in said or 'listing' in said), str(result)
    EMULATED.add(name, operation, 'refused', said)
    return False


@pytest.mark.parametrize('name', EMULATORS)
def test_migrate_and_again(name, emulator, front, winch, new_winch, image):
    """One run with nothing between, through the front if that was refused; then a new run over the
    full prefix: all is there already, or the listing cannot be used."""
    first = run(winch, emulator, image[0], 'p', (LEFT_OUT,))
    if not judge(name, 'migrate', first, emulator, image[1], 'p', (LEFT_OUT,)):
        first = run(winch, front, image[0], 'p', (LEFT_OUT,))
        assert judge(name, 'front', first, emulator, image[1], 'p', (LEFT_OUT,)), str(first)
    manifest = Manifest(emulator.bucket(), 'p')
    name_of_large = next(line['name'] for line in manifest.lines if line.get('path') == COMPOSED)
    resource = emulator.ask('GET', emulator.bucket().path(name_of_large))
    assert resource['crc32c'], 'composed without a checksum, and yet uploaded'
    before = emulator.bucket().content('p')
    marks = committed(emulator, 'p')
    second = run(new_winch('second'), front, image[0], 'p', (LEFT_OUT,))
    if judge(name, 'again', second, emulator, image[1], 'p', (LEFT_OUT,), marks):
        assert second.json['already_present'] > 50, second.json
    assert emulator.bucket().content('p') == before


@pytest.mark.parametrize('name', EMULATORS)
def test_kill(name, emulator, front, winch, image):
    """kill -9 while a reply is withheld; the same command goes on where it stood."""
    left_out = (LEFT_OUT, COMPOSED)
    excluded = [word for path in left_out for word in ('--exclude', path)]
    front.hold_at = 20
    running = winch.start(front, image[0], 'gs://%s/k' % BUCKET, *PART_SIZE, *excluded,
                          '--no-default-excludes', '--connections', '4')
    assert front.held.wait(120), running.output()
    there = emulator.bucket().content('k')
    assert running.kill() and len(there) >= 15 and not committed(emulator, 'k')
    front.released.set()
    result = run(winch, front, image[0], 'k', left_out)
    assert result.exit in (0, 3), str(result)
    prove(emulator, image[1], 'k', left_out)
    assert result.json['already_present'] > 0, json.dumps(result.json)
    parts = [item for item in emulator.bucket().list('k/') if '/.winch/parts/' in item]
    assert not parts, parts[:3]
    EMULATED.add(name, 'kill', 'ok')
