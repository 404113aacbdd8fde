# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, labels, links and server messages that try to move a cursor, turn a line, or pass for
something else: in progress, messages, logs, JSON and the manifest."""
import json
import os
import re
import unicodedata

import pytest

import expectation
import ntfs_image
from comparing import check_counts
from local_storage import BUCKET, DESTINATION
from manifest import Manifest
from test_progress import run_on_terminal

MIB = 1 << 20
# Everything but NUL and slash can stand in an NTFS name; a colon would make a stream here.
NAMES = (
    'esc\x1b[31mred', 'title\x1b]0;owned\x07', 'link\x1b]8;;x\x1b\\', 'dcs\x1bPq\x1b\\',
    'csi\u009b2J', 'nel\u0085', 'new\nline', 'cr\rover', 'tab\there', 'bell\x07', 'del\x7f',
    'lines\u2028and\u2029paragraphs', 'bidi\u202etxt.exe', 'isolate\u2066x\u2069',
    'marks\u200e\u200f',
    'alm\u061c', 'zero\u200bwidth', 'joiner\u2060', 'bom\ufeff', 'soft\u00adhyphen', 'filler\u3164',
    'tag\U000e0041', 'comb' + 'e\u0301' * 40, '%s%n%d%x', '<script>alert(1)<b>', '&amp;]]>',
    '"quoted\\"', "'; DROP TABLE tasks; --", '=cmd|calc', '-rf', '--volume', '..%2f..%2fetc',
    'wide\u4e2d\u6587' * 20, '\U0001f600' * 40, 'Done 0 failed', 'winch migrate Stopped',
    '%u0041', 'x' * 255, 'con', '.well-known', '.winch', 'non\ufffecharacter')
HARMFUL = re.compile(
    '[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e'
    '\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]')
LABEL = 'la\x1b[7mbel\u202e'


@pytest.fixture(scope='module', name='hostile')
def fixture_hostile(tmp_path_factory):
    why = ntfs_image.why_no_mount()
    if why:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp('hostile')
    # ASCII, since the path itself is shown, too.
    path = str(folder / 'disk.img')
    ntfs_image.make_volume(path, 24 * MIB, LABEL)
    tree = expectation.Tree()
    with ntfs_image.Mounted(path) as tree.root:
        for i, name in enumerate(NAMES):
            tree.file(name.encode('utf-8', 'surrogatepass'), b'%d' % i)
            if len(name) < 200:
                tree.directory(('folder ' + name).encode())
                tree.stream(('folder ' + name).encode(), 'inside', b'stream of a folder')
        tree.file('streams', b'main')
        for name in NAMES:
            if len(name) < 200:
                tree.stream('streams', name, b'content of a stream')
        os.symlink('/target \x1b[31m\u202e', tree.at('link'))
        os.symlink('a\nWARNING: all data lost', tree.at('link\n2'))
        for name in ('lost\x1b[31m\u202e', 'lost\nDone, everything is in the bucket'):
            # Fails for its tag, so that the name is told as that of a failed file.
            tree.file(name, bytes(9000))
            tree.attribute(name, 'system.ntfs_reparse_data',
                           bytes.fromhex('13000080' + '0400' + '0000' + '01020304'))
    return path


def check_text(text, what):
    """Lines for people: nothing in them but what stands there."""
    found = HARMFUL.search(text)
    assert found is None, '%s holds %r: %r' % (what, found.group(),
                                               text[max(0, found.start() - 80):found.end() + 20])


def check_json_lines(text, what):
    check_text(text, what)
    return [json.loads(line) for line in text.split('\n') if line.strip()]


@pytest.mark.parametrize('options', (
    ('--log-level', 'debug'), ('--log-level', 'debug', '--log-format', 'json'),
    ('--dry-run',), ('--if-exists', 'skip')), ids=' '.join)
def test_messages(options, hostile, winch, storage):
    result = winch.run(winch.migrate_command(hostile, DESTINATION, *options, as_json=False),
                       storage)
    assert result.exit in (0, 3), str(result)
    check_text(result.err, 'standard error')
    check_text(result.out, 'standard output')
    for line in result.err.split('\n'):
        assert not line.startswith(('WARNING', 'Done')), line
    if 'json' in options:
        for line in result.err.split('\n'):
            if line.startswith('{'):
                json.loads(line)


@pytest.mark.parametrize('form', ('text', 'json'))
def test_log_file(form, hostile, winch, storage, tmp_path):
    log = tmp_path / 'log'
    winch.migrate(storage, hostile, DESTINATION, '--log-file', log, '--log-level', 'debug',
                  '--log-format', form, expect=3)
    text = log.read_text(encoding='utf-8')
    assert 'Finished' in text
    if form == 'json':
        assert check_json_lines(text, 'the log')
    check_text(text, 'the log')


@pytest.mark.parametrize('width', (20, 40, 80, 200))
@pytest.mark.parametrize('locale', ('C', 'C.UTF-8'))
def test_terminal(width, locale, hostile, winch, start_storage):
    """The bar uses a return and one erasing sequence; no line is longer than the terminal."""
    storage = start_storage('--latency-ms', 20)
    command = winch.migrate_command(hostile, DESTINATION, '--connections', 2, as_json=False)
    code, shown = run_on_terminal(command, winch.environment(
        storage, TERM='xterm', COLUMNS=str(width), LC_ALL=locale), width)
    assert code == 3, shown
    bars = 0
    for piece in shown.replace('\x1b[K', '').replace('\r\n', '\n').split('\n'):
        for bar in piece.split('\r'):
            check_text(bar, 'the terminal')
            if '%' in bar and bar is not piece:
                bars += 1
                cells = sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in bar)
                assert cells <= width, (cells, bar)
    assert bars > 0, shown


def test_json_and_manifest(hostile, winch, storage):
    """What a machine reads gives the exact names back, and harms no terminal that shows it."""
    result = winch.migrate(storage, hostile, DESTINATION, '--progress', 'json', expect=3)
    check_text(result.out, 'the result')
    check_json_lines(result.err, 'the progress')
    manifest = Manifest(storage.bucket(), 'p')
    check_counts(result, manifest)
    names = set()
    for line in manifest.lines:
        raw = json.dumps(line, ensure_ascii=False)
        assert '\n' not in raw
        path = line.get('path', '')
        unescaped = re.sub('%u([0-9A-F]{4})', lambda m: chr(int(m.group(1), 16)), path)
        if 'path_utf16' in line:
            unescaped = bytes.fromhex(line['path_utf16']).decode('utf-16-le', 'surrogatepass')
        names.add(unescaped)
    missing = [name for name in NAMES if name not in names]
    assert not missing, missing
    bucket = storage.bucket(BUCKET)
    for name in bucket.list('p/.winch/runs/'):
        data = bucket.get(name)
        if name.endswith('.json'):
            check_text(data.decode('utf-8'), name)
    for name in bucket.list('p/'):
        assert not re.search('[\x00-\x1f\x7f]', name), name


def test_label(hostile, winch, storage):
    text = winch.run(winch.command('disks', hostile)).out
    check_text(text, 'winch disks')
    found = json.loads(winch.run(winch.command('disks', '--json', hostile)).out)
    assert found['disks'][0]['partitions'][0]['label'] == LABEL
    check_text(winch.run(winch.command('disks', '--json', hostile)).out, 'winch disks --json')
    other = winch.migrate(storage, hostile, DESTINATION, '--volume', LABEL + 'x', expect=6)
    check_text(other.err, 'a refused volume')


@pytest.mark.parametrize('body', (
    '{"error":{"code":403,"message":"\\u001b[31mred \\u202e \\u009b2J\\nDone: 0 failed"}}',
    '<Error><Code>A\x1b]0;x\x07</Code><Message>\u202ebidi\u009b\nline</Message></Error>',
    'plain \x1b[2J\r\nDone\u2028', '\x1b' * 5000, '\ufffe\u202e' * 3000), ids=range(5))
def test_server_says(body, hostile, winch, start_storage, tmp_path):
    faults = tmp_path / 'faults'
    faults.write_text(json.dumps({'method': 'POST', 'action': 'status', 'status': 403,
                                  'body': body}) + '\n')
    storage = start_storage('--faults', str(faults))
    result = winch.run(winch.migrate_command(hostile, DESTINATION, '--log-level', 'debug',
                                             as_json=False), storage)
    assert result.exit not in (0, 1, 70), str(result)
    check_text(result.err, 'standard error')


def test_arguments(winch, storage):
    """What is mistyped is told as it was typed, but harms nobody."""
    for arguments in (('migrate', '\x1b[31m\u202e', DESTINATION), ('migrate', 'x', 'gs://b\x1b[0m'),
                      ('\x1b[31m',), ('migrate', '--\x1b[31m'), ('disks', 'no\nsuch\x9b'),
                      ('migrate', 'x', DESTINATION, '--run-id', '../../\x1b'),
                      ('migrate', 'x', DESTINATION, '--accept', '\u202e'),
                      ('migrate', 'x', DESTINATION, '--exclude-from', '/no\x1bsuch')):
        result = winch.run(winch.command(*arguments), storage)
        assert result.exit not in (0, 70), str(result)
        check_text(result.err + result.out, ' '.join(arguments))
