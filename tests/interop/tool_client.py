# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that are command-line tools: gcloud storage, gsutil, rclone. Verbs: library_client.py."""
import json
import os
import re
import subprocess

from library_client import Client, Refused, TIMEOUT_SECONDS

THRESHOLD, COMPONENT = '8M', '4M'


class ToolClient(Client):
    """Runs one command per verb."""

    program = ''
    # What the tool adds to a file's name until it is there.
    suffix = ''

    def run(self, *arguments, stdin=None):
        done = subprocess.run([self.program, *map(str, arguments)], check=False, input=stdin,
                              stdin=subprocess.DEVNULL if stdin is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_SECONDS, env=self.environment())
        if done.returncode != 0:
            lines = done.stderr.decode('utf-8', 'replace').splitlines()
            told = [line for line in lines if not line.lstrip('.').startswith('Copying ')]
            text = '\n'.join(told)[-1500:]
            status = re.search(r'\b(4\d\d|5\d\d)\b', text)
            raise Refused('%s: %s' % (' '.join(map(str, arguments))[:200], text),
                          int(status.group(1)) if status else 0)
        return done.stdout.decode('utf-8', 'surrogateescape')

    def url(self, name):
        return 'gs://%s/%s' % (self.bucket, name)

    def download_split(self, names, prefix, folder, copy):
        """copy() fetches all at once and fails for names too long for its suffix, which are read
        one by one. Of a name that ends in "#" and digits cp takes the digits for a generation: the
        object is left out, or overwrites the file of another, and the exit code is 0. Returns those
        names; with a generation of its own behind it each can be read."""
        long = [name for name in names
                if len(os.path.basename(name).encode() + self.suffix.encode()) > 255]
        like_generations = [name for name in names if re.search(r'#\d+$', name)]
        try:
            copy()
            failed = ''
        except Refused as refused:
            failed = str(refused)
        if bool(failed) != bool(long):
            raise Refused(failed or 'names too long for the local disk went unnoticed')
        for name in long:
            self.cat(prefix + name, os.path.join(folder, name))
        for name in like_generations:
            generation = self.storage.bucket(self.bucket).list(prefix + name)[prefix + name]
            self.cat('%s%s#%s' % (prefix, name, generation['generation']),
                     os.path.join(folder, name))
        return like_generations

    def cat(self, name, file):
        with open(file, 'wb') as stream:
            stream.write(self.run(*self.cat_words, self.url(name)).encode('utf-8',
                                                                          'surrogateescape'))
        return {}

    def strip_urls(self, lines):
        start = len(self.url(''))
        return [line[start:] for line in lines if line.startswith(self.url(''))]

    def split_listing(self, lines):
        names = self.strip_urls(lines)
        return {'names': [name for name in names if not name.endswith('/')],
                'prefixes': [name for name in names if name.endswith('/')]}

    def download_large(self, name, file):
        return self.download(name, file)

    def upload_large(self, file, name):
        return self.upload(file, name)


class Gcloud(ToolClient):
    """gcloud storage with composite uploads and sliced downloads from 8 MiB on."""

    name = 'gcloud'
    suffix = '_.gstmp'
    cat_words = ('storage', 'cat')
    not_offered = {'multipart': 'gcloud storage has no XML multipart upload'}

    def environment(self):
        settings = {
            'API_ENDPOINT_OVERRIDES_STORAGE': self.storage.url + '/',
            'AUTH_DISABLE_CREDENTIALS': 'true',
            'CONFIG': os.path.join(self.folder, 'config'),
            'CORE_DISABLE_PROMPTS': '1', 'CORE_DISABLE_USAGE_REPORTING': 'true',
            'CORE_PROJECT': 'test', 'COMPONENT_MANAGER_DISABLE_UPDATE_CHECK': 'true',
            'STORAGE_CHECK_HASHES': 'always',
            'STORAGE_PROCESS_COUNT': '1', 'STORAGE_THREAD_COUNT': '4',
            'STORAGE_TRACKER_FILES_DIRECTORY': os.path.join(self.folder, 'trackers'),
            # gcloud finds the components that it must delete by the trackers of resumable uploads.
            'STORAGE_RESUMABLE_THRESHOLD': '1M',
            'STORAGE_PARALLEL_COMPOSITE_UPLOAD_ENABLED': 'True',
            'STORAGE_PARALLEL_COMPOSITE_UPLOAD_THRESHOLD': THRESHOLD,
            'STORAGE_PARALLEL_COMPOSITE_UPLOAD_COMPONENT_SIZE': COMPONENT,
            'STORAGE_SLICED_OBJECT_DOWNLOAD_THRESHOLD': THRESHOLD,
            'STORAGE_SLICED_OBJECT_DOWNLOAD_COMPONENT_SIZE': COMPONENT,
        }
        return dict(super().environment(),
                    **{'CLOUDSDK_' + key: value for key, value in settings.items()})

    def version(self):
        words = self.run('version').split()
        return words[words.index('SDK') + 1]

    def storage_command(self, *arguments):
        return self.run('storage', *arguments)

    def upload(self, file, name, if_new=False):
        options = ['--if-generation-match=0'] if if_new else []
        self.storage_command('cp', *options, file, self.url(name))
        return {}

    def upload_tree(self, folder, names, prefix):
        self.storage_command('cp', '-r', folder + '/*', self.url(prefix))

    def download(self, name, file):
        self.storage_command('cp', self.url(name), file)
        return {}

    def download_tree(self, names, prefix, folder):
        return self.download_split(names, prefix, folder, lambda: self.storage_command(
            'cp', '-r', self.url(prefix) + '*', folder))

    def stat(self, name):
        """What `hash` says must be what the resource says."""
        found = json.loads(self.storage_command('objects', 'describe', self.url(name), '--raw',
                                                '--format=json'))
        said = json.loads(self.storage_command('hash', self.url(name), '--format=json'))
        assert said[0]['crc32c_hash'] == found['crc32c'], (said, found)
        assert said[0].get('md5_hash') == found.get('md5Hash'), (said, found)
        return self.facts(found)

    @staticmethod
    def facts(found):
        return {'size': int(found['size']), 'crc32c': found['crc32c'], 'md5': found.get('md5Hash'),
                'generation': found['generation'], 'metadata': found.get('metadata') or {}}

    def stat_tree(self, names, prefix):
        found = json.loads(self.storage_command('objects', 'list', self.url(prefix) + '**', '--raw',
                                                '--format=json'))
        return {item['name'][len(prefix):]: self.facts(item) for item in found}

    def list(self, prefix, delimiter=None):
        text = self.storage_command('ls', self.url(prefix) + ('' if delimiter else '**'))
        return self.split_listing(text.splitlines())

    def compose(self, name, sources):
        self.storage_command('objects', 'compose', *map(self.url, sources), self.url(name))
        return {}

    def copy(self, source, name):
        self.storage_command('cp', self.url(source), self.url(name))
        return {}

    def update(self, name, metadata):
        pairs = ','.join('%s=%s' % pair for pair in metadata.items())
        self.storage_command('objects', 'update', self.url(name), '--custom-metadata=' + pairs)
        return {}

    def delete(self, names):
        self.storage_command('rm', *map(self.url, names))
        return {}


class Gsutil(ToolClient):
    """gsutil speaks TLS alone; composite uploads and sliced downloads from 8 MiB on."""

    name = 'gsutil'
    suffix = '_.gstmp'
    cat_words = ('cat',)
    not_offered = {'multipart': 'gsutil has no XML multipart upload'}
    BOTO = '''[Credentials]
gs_json_host = 127.0.0.1
gs_json_port = %(port)d
[Boto]
https_validate_certificates = True
ca_certificates_file = %(certificate)s
num_retries = 2
[GSUtil]
state_dir = %(folder)s/state
check_hashes = always
default_project_id = test
software_update_check_period = 0
parallel_process_count = 1
parallel_thread_count = 4
parallel_composite_upload_threshold = 8M
parallel_composite_upload_component_size = 4M
sliced_object_download_threshold = 8M
sliced_object_download_component_size = 4M
'''

    def __init__(self, storage, bucket, folder):
        super().__init__(storage, bucket, folder)
        with open(self.boto_name(), 'w', encoding='ascii') as stream:
            stream.write(self.BOTO % {'port': storage.port, 'certificate': storage.certificate,
                                      'folder': self.folder})

    def boto_name(self):
        return os.path.join(self.folder, 'boto')

    def environment(self):
        return dict(super().environment(), BOTO_CONFIG=self.boto_name(), BOTO_PATH=self.boto_name(),
                    CLOUDSDK_CONFIG=self.folder)

    def version(self):
        return self.run('version').split()[-1]

    def upload(self, file, name, if_new=False):
        options = ['-h', 'x-goog-if-generation-match:0'] if if_new else []
        self.run('-q', *options, 'cp', file, self.url(name))
        return {}

    def upload_tree(self, folder, names, prefix):
        self.run('-q', '-m', 'cp', '-r', folder + '/*', self.url(prefix))

    def download(self, name, file):
        self.run('-q', 'cp', self.url(name), file)
        return {}

    def download_tree(self, names, prefix, folder):
        return self.download_split(names, prefix, folder, lambda: self.run(
            '-q', '-m', 'cp', '-r', self.url(prefix) + '*', folder))

    LINES = (('size', r'Content-Length: +(\d+)'), ('crc32c', r'Hash \(crc32c\): +(\S+)'),
             ('md5', r'Hash \(md5\): +(\S+)'), ('generation', r'Generation: +(\d+)'))

    def facts(self, text):
        found = {key: re.search(pattern, text) for key, pattern in self.LINES}
        facts = {key: match.group(1) if match else None for key, match in found.items()}
        facts['size'] = int(facts['size'])
        block = re.search(r'^ {4}Metadata: *\n((?: {8}.*\n)*)', text, re.M)
        lines = block.group(1).splitlines() if block else []
        facts['metadata'] = {key.strip(): value.strip() for key, value in
                             (line.split(':', 1) for line in lines)}
        return facts

    def stat(self, name):
        return self.facts(self.run('stat', self.url(name)))

    def stat_tree(self, names, prefix):
        text = self.run('ls', '-L', self.url(prefix) + '**')
        pieces = re.split(r'^%s(.*):\n' % re.escape(self.url(prefix)), text, flags=re.M)[1:]
        return {name: self.facts(piece) for name, piece in zip(pieces[::2], pieces[1::2])}

    def list(self, prefix, delimiter=None):
        text = self.run('ls', self.url(prefix) + ('' if delimiter else '**'))
        return self.split_listing(text.splitlines())

    def compose(self, name, sources):
        self.run('-q', 'compose', *map(self.url, sources), self.url(name))
        return {}

    def copy(self, source, name):
        self.run('-q', 'cp', self.url(source), self.url(name))
        return {}

    def update(self, name, metadata):
        options = [word for pair in metadata.items()
                   for word in ('-h', 'x-goog-meta-%s:%s' % pair)]
        self.run('-q', 'setmeta', *options, self.url(name))
        return {}

    def delete(self, names):
        self.run('-q', '-m', 'rm', *map(self.url, names))
        return {}


class Rclone(ToolClient):
    """rclone with resumable uploads in chunks of 4 MiB."""

    name = 'rclone'
    program = 'rclone'
    cat_words = ('cat',)
    not_offered = {
        'multipart': 'rclone has no XML multipart upload to Cloud Storage',
        'compose': 'rclone composes nothing', 'new': 'rclone sends no preconditions',
        'update': 'this rclone sets no metadata in Cloud Storage'}

    def environment(self):
        options = {'CONFIG': os.path.join(self.folder, 'rclone.conf'), 'GCS_ANONYMOUS': 'true',
                   'GCS_ENDPOINT': self.storage.url + '/storage/v1/', 'GCS_CHUNK_SIZE': COMPONENT,
                   'TRANSFERS': '4', 'CHECKERS': '4', 'RETRIES': '1', 'LOW_LEVEL_RETRIES': '2'}
        return dict(super().environment(),
                    **{'RCLONE_' + key: value for key, value in options.items()})

    def url(self, name):
        return ':gcs:%s/%s' % (self.bucket, name)

    def version(self):
        return self.run('version').split()[1].lstrip('v')

    def upload(self, file, name, if_new=False):
        assert not if_new
        self.run('copyto', file, self.url(name))
        return {}

    def upload_tree(self, folder, names, prefix):
        self.run('copy', folder, self.url(prefix))
        self.run('check', folder, self.url(prefix))

    def download(self, name, file):
        return self.cat(name, file)

    def download_large(self, name, file):
        self.run('copyto', self.url(name), file)
        return {}

    def download_tree(self, names, prefix, folder):
        self.run('copy', self.url(prefix), folder)
        self.run('check', '--download', self.url(prefix), folder)
        return []

    def stat(self, name):
        found = json.loads(self.run('lsjson', '--stat', '--hash', self.url(name)))
        return self.facts(found)

    @staticmethod
    def facts(found):
        md5 = (found.get('Hashes') or {}).get('md5')
        return {'size': found['Size'], 'crc32c': None, 'md5_hex': md5 or None, 'metadata': {}}

    def stat_tree(self, names, prefix):
        found = json.loads(self.run('lsjson', '-R', '--files-only', '--hash', self.url(prefix)))
        return {item['Path']: self.facts(item) for item in found}

    def list(self, prefix, delimiter=None):
        if delimiter is None:
            text = self.run('lsf', '-R', '--files-only', self.url(prefix))
            return {'names': [prefix + name for name in text.splitlines()]}
        names = [prefix + name for name in self.run('lsf', self.url(prefix)).splitlines()]
        return {'names': [name for name in names if not name.endswith('/')],
                'prefixes': [name for name in names if name.endswith('/')]}

    def copy(self, source, name):
        self.run('copyto', self.url(source), self.url(name))
        return {}

    def delete(self, names):
        for name in names:
            self.run('deletefile', self.url(name))
        return {}
