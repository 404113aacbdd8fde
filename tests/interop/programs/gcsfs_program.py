# SPDX-License-Identifier: GPL-3.0-or-later
"""gcsfs, the file system of the fsspec family, as the tests drive it; see python_program.py."""
import json
import os
import sys

import gcsfs


class Program:
    def __init__(self):
        self.files = gcsfs.GCSFileSystem(token='anon', consistency='md5', use_listings_cache=False,
                                         endpoint_url=os.environ['STORAGE_EMULATOR_HOST'])
        self.bucket = os.environ['INTEROP_BUCKET']

    def path(self, name):
        return '%s/%s' % (self.bucket, name)

    def version(self):
        return {'version': gcsfs.__version__}

    def upload(self, file, name, if_new=False):
        with open(file, 'rb') as stream:
            self.files.pipe_file(self.path(name), stream.read(),
                                 mode='create' if if_new else 'overwrite')
        return {}

    def upload_large(self, file, name):
        """Resumable, in chunks, through an open file."""
        with open(file, 'rb') as stream, self.files.open(
                self.path(name), 'wb', block_size=4 << 20) as out:
            while True:
                piece = stream.read(3 << 20)
                if not piece:
                    return {}
                out.write(piece)

    def download(self, name, file):
        with open(file, 'wb') as stream:
            stream.write(self.files.cat_file(self.path(name)))
        return {}

    def download_large(self, name, file):
        """By ranges, through an open file."""
        with self.files.open(self.path(name), 'rb', block_size=4 << 20) as source, \
                open(file, 'wb') as stream:
            while True:
                piece = source.read(3 << 20)
                if not piece:
                    return {}
                stream.write(piece)

    def stat(self, name):
        info = self.files.info(self.path(name))
        return {'size': info['size'], 'crc32c': info.get('crc32c'), 'md5': info.get('md5Hash'),
                'generation': info.get('generation'), 'metadata': info.get('metadata') or {}}

    def list(self, prefix, delimiter=None):
        start = len(self.bucket) + 1
        if delimiter is None:
            return {'names': [n[start:] for n in self.files.find(self.path(prefix))]}
        found = self.files.ls(self.path(prefix), detail=True)
        return {'names': [i['name'][start:] for i in found if i['type'] == 'file'],
                'prefixes': [i['name'][start:].rstrip('/') + '/' for i in found
                             if i['type'] == 'directory']}

    def compose(self, name, sources):
        self.files.merge(self.path(name), [self.path(source) for source in sources])
        return {}

    def copy(self, source, name):
        self.files.cp_file(self.path(source), self.path(name))
        return {}

    def update(self, name, metadata):
        self.files.setxattrs(self.path(name), **metadata)
        return {}

    def delete(self, names):
        """Together: one batch request."""
        self.files.rm([self.path(name) for name in names])
        return {}


def main():
    program = Program()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(program, request.pop('verb'))(**request)
        except Exception as error:  # pylint: disable=broad-except
            reply = {'error': '%s: %s' % (type(error).__name__, str(error)[:500]),
                     'status': 412 if isinstance(error, FileExistsError) else
                     getattr(error, 'code', 0) or 0}
        print(json.dumps(reply), flush=True)


if __name__ == '__main__':
    main()
