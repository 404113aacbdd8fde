# SPDX-License-Identifier: GPL-3.0-or-later
"""What each client works on: a server of its own, files, and what winch wrote before."""
import base64
import hashlib
import http.client
import json
import os
import shutil
import ssl
import subprocess

from comparing import Comparison
from local_storage import LocalStorage
from manifest import Manifest

# winch locks a destination for the whole machine: two sessions of tests must not meet there.
BUCKET = 'interop-%d' % os.getpid()
PREFIX = 'from winch'
# Sparse for 196 MiB: nothing that the other 300 objects do not show.
LEFT_OUT = 'fragments/list.bin'


class TlsStorage(LocalStorage):
    """A server that speaks TLS with a certificate made for it."""

    def __init__(self, program, folder, *options):
        self.certificate = os.path.join(folder, 'certificate.pem')
        key = os.path.join(folder, 'key.pem')
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2',
                        '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1',
                        '-keyout', key, '-out', self.certificate],
                       check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        super().__init__(program, '--tls', self.certificate, key, *options)
        self.url = 'https://127.0.0.1:%d' % self.port

    def request(self, method, path, body=None, headers=None):
        context = ssl.create_default_context(cafile=self.certificate)
        connection = http.client.HTTPSConnection('127.0.0.1', self.port, timeout=60,
                                                 context=context)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


class Written:
    """One migration into a server that is stopped afterwards; its folder is what others get."""

    def __init__(self, folder):
        self.folder = folder
        self.sha256 = {}    # object name below the prefix: of what was put on the disk
        self.crc32c = {}    # object name below the prefix: as the manifest has it
        self.components = {}

    def fill(self, winch, program, image, rows):
        storage = LocalStorage(program, '--md5', '--dir', self.folder)
        try:
            result = winch.migrate(storage, image, 'gs://%s/%s' % (BUCKET, PREFIX),
                                   '--exclude', LEFT_OUT, '--part-size', '2M',
                                   '--no-default-excludes', expect=None)
            assert result.exit in (0, 3), str(result)
            bucket = storage.bucket(BUCKET)
            manifest = Manifest(bucket, PREFIX)
            rows = [row for row in rows if row.path != LEFT_OUT.encode()]
            comparison = Comparison(bucket, manifest, PREFIX).compare(rows)
            comparison.assert_equal()
            self.take(comparison, manifest)
        finally:
            storage.stop()

    def take(self, comparison, manifest):
        start = len(PREFIX) + 1
        for name, value in comparison.hashes.items():
            self.sha256[name[start:]] = value
        for line in manifest.lines:
            if line.get('name', '')[start:] in self.sha256 and 'crc32c' in line:
                self.crc32c[line['name'][start:]] = line['crc32c']
        for name in self.sha256:
            item = comparison.objects[PREFIX + '/' + name]
            self.components[name] = int(item.get('componentCount', 0))

    def copy_to(self, folder):
        """A folder of a server that holds the same: only the index ever changes in place."""
        shutil.copytree(self.folder, folder, copy_function=os.link)
        index = os.path.join(folder, 'index.jsonl')
        if not os.path.exists(index):
            return
        os.unlink(index)
        shutil.copyfile(os.path.join(self.folder, 'index.jsonl'), index)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, 'rb') as stream:
        for block in iter(lambda: stream.read(1 << 20), b''):
            digest.update(block)
    return digest.hexdigest()


def md5_base64(data):
    return base64.b64encode(hashlib.md5(data).digest()).decode()


class World:
    """One client, its server and its files."""

    def __init__(self, client, storage, folder, written):
        self.client = client
        self.storage = storage
        self.bucket = storage.bucket(BUCKET)
        self.folder = str(folder)
        self.written = written

    def path(self, *parts):
        path = os.path.join(self.folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def file(self, name, data):
        path = self.path('files', name)
        with open(path, 'wb') as stream:
            stream.write(data)
        return path

    def server_facts(self, name):
        """The resource of an object, None if there is none; asked without the client."""
        status, data = self.storage.request('GET', self.bucket.path(name))
        assert status in (200, 404), data
        return json.loads(data) if status == 200 else None

    def check_content(self, name, data, facts=None):
        """The object is `data`, as the server has it and as the client said."""
        item = self.server_facts(name)
        assert item is not None, '%r is not in the bucket' % name
        assert int(item['size']) == len(data), item
        assert self.bucket.get(name) == data, '%r has other content' % name
        if 'md5Hash' in item:
            assert item['md5Hash'] == md5_base64(data), item
        self.check_facts(facts or {}, item)

    @staticmethod
    def check_facts(facts, item):
        """What a client told agrees with the resource."""
        pairs = (('size', int(item['size'])), ('crc32c', item['crc32c']),
                 ('md5', item.get('md5Hash')), ('generation', item['generation']))
        for key, wanted in pairs:
            if facts.get(key) is not None:
                assert str(facts[key]) == str(wanted), (key, facts, item)
        if facts.get('md5_hex') is not None:
            assert facts['md5_hex'] == base64.b64decode(item['md5Hash']).hex(), (facts, item)
