# SPDX-License-Identifier: GPL-3.0-or-later
"""The local Cloud Storage as tests see it: start and stop it, look into its buckets."""
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse

START_SECONDS = 20
# winch locks a destination for the whole machine: two sessions of tests must not meet there.
BUCKET = 'bucket-%d' % os.getpid()
DESTINATION = 'gs://%s/p' % BUCKET


class Server:
    """A fake-gcs that runs already, on a port of this machine."""

    def __init__(self, port):
        self.port = port
        self.url = 'http://127.0.0.1:%d' % port
        self.local = threading.local()
        self.token = None       # of a server with --require-token

    def request(self, method, path, body=None, headers=None):
        """(status, body); one kept connection per thread, opened again when it has died."""
        headers = dict(headers or {})
        if self.token:
            headers['Authorization'] = 'Bearer ' + self.token
        for attempt in (1, 2):
            connection = getattr(self.local, 'connection', None)
            if connection is None:
                connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
                self.local.connection = connection
            try:
                connection.request(method, path, body, headers)
                reply = connection.getresponse()
                return reply.status, reply.read()
            except (http.client.HTTPException, OSError):
                connection.close()
                self.local.connection = None
                if attempt == 2:
                    raise
        return None

    def ask(self, method, path, body=None):
        headers = {}
        if body is not None:
            body = json.dumps(body).encode()
            headers['Content-Type'] = 'application/json'
        status, data = self.request(method, path, body, headers)
        if status >= 300:
            raise AssertionError('%s %s: %d %s' % (method, path, status, data[:300]))
        return json.loads(data) if data else None

    def stats(self):
        return self.ask('GET', '/_fake/stats')

    def hold(self, **match):
        """Stop the next request that matches: method, path_contains, name_contains, nth, when."""
        self.request('POST', '/_fake/hold', json.dumps(match).encode())

    def release(self):
        self.request('POST', '/_fake/release', b'')

    def wait_until(self, condition, seconds, alive=None):
        """Poll the stats until `condition(stats)`; False after `seconds` or when `alive()` ends."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if condition(self.stats()):
                return True
            if alive is not None and not alive():
                return False
            time.sleep(0.001)
        return False

    def bucket(self, name=BUCKET):
        return Bucket(self, name)


class LocalStorage(Server):
    """One fake-gcs process on a port of its own. Options are those of tests/fake/README.md."""

    def __init__(self, program, *options):
        self.stopped = False
        self.folder = tempfile.mkdtemp(prefix='winch-fake-')
        port_file = os.path.join(self.folder, 'port')
        self.log_name = os.path.join(self.folder, 'log')
        with open(self.log_name, 'wb') as log:
            self.process = subprocess.Popen(
                [program, '--port', '0', '--port-file', port_file, *map(str, options)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        limit = time.monotonic() + START_SECONDS
        while not os.path.exists(port_file):
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError('fake-gcs did not start: ' + self.log())
            time.sleep(0.005)
        with open(port_file, encoding='ascii') as stream:
            super().__init__(int(stream.read()))

    def log(self):
        if not os.path.exists(self.log_name):
            return ''
        with open(self.log_name, encoding='utf-8', errors='replace') as stream:
            return stream.read()[-2000:]

    def stop(self):
        """Ends the server; True if it was alive until now, or was ended here before."""
        if self.stopped:
            return True
        alive = self.process.poll() is None
        self.stopped = True
        if alive:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return alive


class Bucket:
    """A bucket over the JSON API."""

    def __init__(self, storage, name):
        self.storage = storage
        self.name = name

    def path(self, name):
        return '/storage/v1/b/%s/o/%s' % (self.name, urllib.parse.quote(name, safe=''))

    def list(self, prefix=''):
        """{name: item} of all objects under a prefix, page after page."""
        items, token = {}, None
        while True:
            query = {'prefix': prefix}
            if token:
                query['pageToken'] = token
            page = self.storage.ask('GET', '/storage/v1/b/%s/o?%s'
                                    % (self.name, urllib.parse.urlencode(query)))
            for item in page.get('items', ()):
                assert item['name'] not in items, 'listed twice: %r' % item['name']
                items[item['name']] = item
            token = page.get('nextPageToken')
            if not token:
                return items

    def get(self, name):
        status, data = self.storage.request('GET', self.path(name) + '?alt=media')
        if status != 200:
            raise AssertionError('reading %r: status %d' % (name, status))
        return data

    def sha256(self, name):
        return hashlib.sha256(self.get(name)).hexdigest()

    def put(self, name, data):
        query = urllib.parse.urlencode({'uploadType': 'media', 'name': name})
        status, body = self.storage.request(
            'POST', '/upload/storage/v1/b/%s/o?%s' % (self.name, query), data,
            {'Content-Type': 'application/octet-stream'})
        assert status == 200, body
        return json.loads(body)

    def delete(self, name):
        return self.storage.request('DELETE', self.path(name))[0]

    def content(self, prefix=''):
        """What must be equal between two runs: names, sizes and checksums, but not the runs."""
        runs = (prefix + '/' if prefix else '') + '.winch/runs/'
        return {name: (item['size'], item['crc32c']) for name, item in self.list(prefix).items()
                if not name.startswith(runs) and '/.winch/dedup/reparse-' not in name}
