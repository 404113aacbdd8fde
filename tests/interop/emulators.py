# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's emulators of Cloud Storage, and a front that stands before one of them."""
import http.client
import http.server
import json
import os
import socket
import subprocess
import threading
import time
import urllib.parse

import clients
from local_storage import BUCKET, Bucket, Server

START_SECONDS = 30


def program_of(name):
    return clients.installed(name, 'bin', name)


def free_port():
    """Neither of them tells which port it was given for 0."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def command(name, port):
    if name == 'gcp-storage-emulator':
        return [program_of(name), 'start', '--host', '127.0.0.1', '--port', str(port),
                '--in-memory', '--quiet']
    address = '127.0.0.1:%d' % port
    return [program_of(name), '-scheme', 'http', '-host', '127.0.0.1', '-port', str(port),
            '-backend', 'memory', '-log-level', 'error', '-public-host', address,
            '-external-url', 'http://' + address]


class EmulatedBucket(Bucket):
    """Sizes are strings in Cloud Storage, and not everywhere else."""

    def list(self, prefix=''):
        items = super().list(prefix)
        for item in items.values():
            item['size'] = str(item['size'])
        return items


class Emulator(Server):
    """A running emulator with one bucket."""

    def __init__(self, name, folder):
        super().__init__(free_port())
        self.name = name
        self.log_name = os.path.join(str(folder), name + '.log')
        with open(self.log_name, 'wb') as log:
            self.process = subprocess.Popen(command(name, self.port), cwd=str(folder),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        limit = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < limit, self.log()
            time.sleep(0.05)
        self.ask('POST', '/storage/v1/b?project=test', {'name': BUCKET})

    def answers(self):
        try:
            with socket.create_connection(('127.0.0.1', self.port), timeout=1):
                return True
        except OSError:
            return False

    def log(self):
        with open(self.log_name, encoding='utf-8', errors='replace') as stream:
            return stream.read()[-1500:]

    def bucket(self, name=BUCKET):
        return EmulatedBucket(self, name)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Front:
    """Passes every request on to an emulator but for two things: it answers which rights the caller
    has (all), and it can withhold the reply to one upload until its client has left."""

    def __init__(self, emulator):
        self.emulator = emulator
        self.lock = threading.Lock()
        self.uploads = 0        # under the lock
        self.hold_at = 0        # under the lock; 0: none
        self.held = threading.Event()
        self.released = threading.Event()
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One request."""

            protocol_version = 'HTTP/1.1'

            def log_message(self, format, *args):   # pylint: disable=redefined-builtin
                pass

            def serve(self):
                front.serve(self)
            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.url = 'http://127.0.0.1:%d' % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def serve(self, request):
        body = request.rfile.read(int(request.headers.get('Content-Length') or 0))
        path, _, query = request.path.partition('?')
        if path.endswith('/iam/testPermissions'):
            asked = urllib.parse.parse_qs(query).get('permissions', [])
            self.answer(request, 200, [('Content-Type', 'application/json')],
                        json.dumps({'permissions': asked}).encode())
            return
        connection = http.client.HTTPConnection('127.0.0.1', self.emulator.port, timeout=120)
        try:
            connection.request(request.command, request.path, body, dict(request.headers))
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
        if path.startswith('/upload/'):
            self.pass_or_hold()
        left_out = ('content-length', 'transfer-encoding', 'connection')
        headers = [pair for pair in reply.getheaders() if pair[0].lower() not in left_out]
        self.answer(request, reply.status, headers, data)

    def pass_or_hold(self):
        with self.lock:
            self.uploads += 1
            if self.uploads != self.hold_at:
                return
        self.held.set()
        self.released.wait(120)

    @staticmethod
    def answer(request, status, headers, body):
        try:
            request.send_response(status)
            for name, value in headers:
                request.send_header(name, value)
            request.send_header('Content-Length', str(len(body)))
            request.end_headers()
            if request.command != 'HEAD':
                request.wfile.write(body)
        except OSError:
            request.close_connection = True     # the client has been killed

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
