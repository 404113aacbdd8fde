# SPDX-License-Identifier: GPL-3.0-or-later
"""Google's Python library as the tests drive it: a JSON object a line in, one a line out.

The verbs are those of library_client.py. Runs in the environment that clients.sh makes.
"""
import json
import os
import sys

from google.api_core.exceptions import GoogleAPICallError
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.cloud.storage import transfer_manager

CHUNK = 1 << 20


class Program:
    def __init__(self):
        self.client = storage.Client(project='test', credentials=AnonymousCredentials())
        self.bucket = self.client.bucket(os.environ['INTEROP_BUCKET'])

    def version(self):
        return {'version': storage.__version__}

    def facts(self, blob):
        return {'size': blob.size, 'crc32c': blob.crc32c, 'md5': blob.md5_hash,
                'generation': str(blob.generation), 'metadata': blob.metadata or {}}

    def upload(self, file, name, if_new=False):
        blob = self.bucket.blob(name)
        blob.upload_from_filename(file, checksum='crc32c',
                                  if_generation_match=0 if if_new else None)
        return self.facts(blob)

    def upload_large(self, file, name):
        """Resumable, in chunks."""
        blob = self.bucket.blob(name, chunk_size=4 * CHUNK)
        blob.upload_from_filename(file, checksum='crc32c')
        return self.facts(blob)

    def upload_multipart(self, file, name):
        """The XML API's multipart upload."""
        blob = self.bucket.blob(name)
        transfer_manager.upload_chunks_concurrently(
            file, blob, chunk_size=5 * CHUNK, worker_type=transfer_manager.THREAD, max_workers=4)
        blob.reload()
        return self.facts(blob)

    def download(self, name, file):
        self.bucket.blob(name).download_to_filename(file, checksum='auto')
        return {}

    def download_large(self, name, file):
        """In slices, side by side."""
        blob = self.bucket.blob(name)
        transfer_manager.download_chunks_concurrently(
            blob, file, chunk_size=4 * CHUNK, worker_type=transfer_manager.THREAD, max_workers=4)
        return {}

    def stat(self, name):
        blob = self.bucket.blob(name)
        blob.reload()
        return self.facts(blob)

    def list(self, prefix, delimiter=None):
        pages = self.client.list_blobs(self.bucket, prefix=prefix, delimiter=delimiter)
        names = [blob.name for blob in pages]
        return {'names': names, 'prefixes': sorted(pages.prefixes)}

    def compose(self, name, sources):
        blob = self.bucket.blob(name)
        blob.content_type = 'text/plain'
        blob.compose([self.bucket.blob(source) for source in sources], if_generation_match=0)
        blob.reload()
        return self.facts(blob)

    def copy(self, source, name):
        blob = self.bucket.blob(name)
        token = None
        while True:
            token, _, _ = blob.rewrite(self.bucket.blob(source), token=token)
            if token is None:
                return self.facts(blob)

    def update(self, name, metadata):
        blob = self.bucket.blob(name)
        blob.metadata = metadata
        blob.patch()
        return self.facts(blob)

    def delete(self, names):
        """The first by itself, the others in one batch request."""
        self.bucket.blob(names[0]).delete()
        with self.client.batch():
            for name in names[1:]:
                self.bucket.blob(name).delete()
        return {}


def main():
    program = Program()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(program, request.pop('verb'))(**request)
        except GoogleAPICallError as error:
            reply = {'error': str(error)[:500], 'status': error.code}
        except Exception as error:  # pylint: disable=broad-except
            reply = {'error': '%s: %s' % (type(error).__name__, str(error)[:500]), 'status': 0}
        print(json.dumps(reply), flush=True)


if __name__ == '__main__':
    main()
