# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of Cloud Storage as the tests see it, and those that are libraries.

A library runs in a program of its own (programs/, go/, java/) that reads a JSON object a line and
answers with one. The verbs, for command-line tools too:

    upload(file, name, if_new)        upload_large(file, name)     upload_multipart(file, name)
    download(name, file)              download_large(name, file)   stat(name)
    list(prefix, delimiter)           compose(name, sources)       copy(source, name)
    update(name, metadata)            delete(names)

Uploads, compose, copy and update may answer with the facts of the object as the client saw them:
size, crc32c, md5, generation, metadata; what a client does not tell is absent or None.
"""
import json
import os
import selectors
import subprocess

TIMEOUT_SECONDS = 120


class Refused(Exception):
    """The client could not do it: `status` of HTTP when it tells one, else 0."""

    def __init__(self, text, status=0):
        super().__init__(text)
        self.status = status


class Client:
    """What all clients share. `not_offered`: {operation: why the client has no such thing}."""

    name = ''
    not_offered = {}

    def __init__(self, storage, bucket, folder):
        self.storage = storage
        self.bucket = bucket
        self.folder = str(folder)

    def environment(self):
        """Ours, without what would lead a client away from the local server."""
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(('CLOUDSDK_', 'GOOGLE_', 'GCE_', 'RCLONE_', 'STORAGE_'))
                and not key.lower().endswith('_proxy')}
        return dict(kept, HOME=self.folder, STORAGE_EMULATOR_HOST=self.storage.url,
                    INTEROP_BUCKET=self.bucket)

    def upload_tree(self, folder, names, prefix):
        for name in names:
            self.upload(os.path.join(folder, name), prefix + name)

    def download_tree(self, names, prefix, folder):
        """Into folder/NAME for each prefix + NAME. Returns the names that took another way."""
        for name in names:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self.download(prefix + name, path)
        return []

    def stat_tree(self, names, prefix):
        """{name: facts}"""
        return {name: self.stat(prefix + name) for name in names}

    def close(self):
        """End what the client left running."""


class LibraryClient(Client):
    """A program of ours around somebody's library."""

    command = ()
    extra_environment = {}

    def __init__(self, storage, bucket, folder):
        super().__init__(storage, bucket, folder)
        self.log_name = os.path.join(self.folder, 'log')
        with open(self.log_name, 'wb') as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=dict(self.environment(), **self.extra_environment))

    def log(self):
        with open(self.log_name, encoding='utf-8', errors='replace') as stream:
            return stream.read()[-1500:]

    def ask(self, verb, **arguments):
        line = json.dumps(dict(arguments, verb=verb)) + '\n'
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError('%s ended: %s' % (self.name, self.log())) from None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(TIMEOUT_SECONDS):
                raise AssertionError('%s does not answer %s' % (self.name, line[:300]))
        answer = self.process.stdout.readline()
        assert answer, '%s ended: %s' % (self.name, self.log())
        reply = json.loads(answer)
        if 'error' in reply:
            raise Refused(reply['error'], int(reply['status']))
        return reply

    def version(self):
        return self.ask('version')['version']

    def __getattr__(self, verb):
        """The other verbs go through as they are, by the names of their arguments."""
        names = {
            'upload': ('file', 'name', 'if_new'), 'upload_large': ('file', 'name'),
            'upload_multipart': ('file', 'name'), 'download': ('name', 'file'),
            'download_large': ('name', 'file'), 'stat': ('name',),
            'list': ('prefix', 'delimiter'), 'compose': ('name', 'sources'),
            'copy': ('source', 'name'), 'update': ('name', 'metadata'), 'delete': ('names',),
        }
        if verb not in names:
            raise AttributeError(verb)

        def call(*arguments):
            return self.ask(verb, **dict(zip(names[verb], arguments)))
        return call

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
