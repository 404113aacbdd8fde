# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress: what the lines say, silence where nobody looks, a bar where somebody does."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

from conftest import MOVE
from local_storage import DESTINATION
from test_faults import progress_lines

FIELDS = {'t', 'phase', 'objects', 'objects_total', 'bytes', 'bytes_total', 'rate', 'eta_s',
          'limited_by', 'retries'}
LIMITS = {'disk', 'cpu', 'network', 'ramp', 'server'}


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


@pytest.fixture
def slow_storage(start_storage):
    """Slow enough for several lines."""
    return start_storage('--latency-ms', '60')


def test_json_lines(winch, slow_storage, image):
    result = winch.migrate(slow_storage, image, DESTINATION, '--progress', 'json')
    lines = progress_lines(result.err)
    assert len(lines) >= 3, result.err
    for line in lines:
        assert FIELDS - {'eta_s'} <= set(line), line
        assert line['bytes'] <= line['bytes_total'], line
        assert line['objects'] <= line['objects_total'], line
        assert line['limited_by'] in LIMITS, line
    uploads = [line for line in lines if line['phase'] == 'upload']
    assert uploads, lines
    for before, after in zip(uploads, uploads[1:]):
        assert before['bytes'] <= after['bytes'], (before, after)
        assert before['objects'] <= after['objects'], (before, after)
        assert before['retries'] <= after['retries'], (before, after)
        assert before['t'] <= after['t'], (before, after)
    assert any('eta_s' in line for line in uploads), uploads
    last = lines[-1]
    assert last['bytes'] == last['bytes_total'], last


def test_quiet_without_terminal(winch, storage, image):
    result = winch.migrate(storage, image, DESTINATION)
    assert result.err == '', result.err


def test_report_in_words(winch, storage, image):
    command = winch.migrate_command(image, DESTINATION, as_json=False)
    result = winch.run(command, storage)
    assert result.exit == 0, str(result)
    assert DESTINATION in result.out, result.out
    assert result.json is None


def run_on_terminal(command, environment, columns=80):
    """Run with standard error on a pseudo terminal; returns (exit code, what it showed)."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip('no pseudo terminal here: %s' % error)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=slave, env=environment)
    os.close(slave)
    shown = b''
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
    os.close(master)
    process.stdout.read()
    process.stdout.close()
    return process.wait(60), shown.decode('utf-8', 'replace')


def test_bar_on_terminal(winch, slow_storage, image):
    command = winch.migrate_command(image, DESTINATION)
    code, shown = run_on_terminal(command, winch.environment(slow_storage, TERM='xterm'))
    assert code == 0, shown
    assert '\r' in shown and '%' in shown, repr(shown[:500])


def test_no_bar_when_unwanted(winch, storage, image):
    command = winch.migrate_command(image, DESTINATION, '--progress', 'none')
    code, shown = run_on_terminal(command, winch.environment(storage, TERM='xterm'))
    assert code == 0, shown
    assert '\x1b[K' not in shown and '%' not in shown, repr(shown[:500])


def test_hostile_names_on_terminal(winch, storage, images):
    """Control characters of file names never reach a terminal."""
    image = images.get('kinds')
    command = winch.migrate_command(image, DESTINATION, '--log-level', 'debug', as_json=False)
    code, shown = run_on_terminal(command, winch.environment(storage, TERM='xterm'))
    assert code == 3, shown
    assert '\u202e' not in shown, 'a bidi override was shown'
