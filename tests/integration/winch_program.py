# SPDX-License-Identifier: GPL-3.0-or-later
"""Run winch as a user does: arguments, environment, exit code, what it prints."""
import json
import os
import signal
import subprocess
import time

TIMEOUT_SECONDS = 300
# Credentials and addresses of whoever runs the tests must not leak into them.
CLEARED = ('STORAGE_EMULATOR_HOST', 'GOOGLE_APPLICATION_CREDENTIALS', 'GCE_METADATA_HOST',
           'CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE', 'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE',
           'WINCH_STATE_DIR', 'STATE_DIRECTORY', 'XDG_STATE_HOME', 'WINCH_CA_FILE',
           'SSL_CERT_FILE', 'http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY')


class Result:
    """A finished run: `exit`, `json` (None if there was none), `out`, `err`."""

    def __init__(self, exit_code, out, err, seconds):
        self.exit = exit_code
        self.out = out
        self.err = err
        self.seconds = seconds
        try:
            self.json = json.loads(out)
        except ValueError:
            self.json = None

    def __str__(self):
        return 'exit %s\n%s\n%s' % (self.exit, self.out[-3000:], self.err[-3000:])


class Winch:
    """The program with one state folder."""

    def __init__(self, program, state_folder):
        self.program = program
        self.state_folder = str(state_folder)

    def environment(self, storage=None, **extra):
        environment = {k: v for k, v in os.environ.items() if k not in CLEARED}
        if storage is not None:
            environment['STORAGE_EMULATOR_HOST'] = storage.url
        environment.update(extra)
        return environment

    def command(self, *arguments):
        return [self.program, *map(str, arguments)]

    def migrate_command(self, source, destination, *options, as_json=True):
        command = self.command('migrate', source, destination, '--state-dir', self.state_folder)
        if as_json:
            command.append('--json')
        return command + list(map(str, options))

    def run(self, command, storage=None, timeout=TIMEOUT_SECONDS, **environment):
        start = time.monotonic()
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              env=self.environment(storage, **environment))
        result = Result(done.returncode, done.stdout.decode('utf-8', 'replace'),
                        done.stderr.decode('utf-8', 'replace'), time.monotonic() - start)
        assert 'Sanitizer' not in result.err and 'runtime error:' not in result.err, result.err
        return result

    def migrate(self, storage, source, destination, *options, expect=0, **environment):
        """One migration; fails the test unless it ends with `expect` (None: with anything)."""
        result = self.run(self.migrate_command(source, destination, *options), storage,
                          **environment)
        if expect is not None:
            assert result.exit == expect, str(result)
        if result.json is not None and expect is not None:
            assert result.json['exit'] == result.exit, str(result)
        return result

    def start(self, storage, source, destination, *options):
        return Running(self.migrate_command(source, destination, *options),
                       self.environment(storage), self.state_folder + '.output')


class Running:
    """A migration that goes on while the test looks."""

    def __init__(self, command, environment, output_name):
        self.output_name = output_name
        with open(output_name, 'wb') as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output, env=environment)

    def alive(self):
        return self.process.poll() is None

    def output(self):
        with open(self.output_name, encoding='utf-8', errors='replace') as stream:
            return stream.read()[-3000:]

    def kill(self):
        """kill -9; True if that is what ended it."""
        self.process.send_signal(signal.SIGKILL)
        return self.process.wait(60) == -signal.SIGKILL

    def end(self, number=signal.SIGTERM, seconds=60):
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def wait(self, seconds=TIMEOUT_SECONDS):
        return self.process.wait(seconds)
