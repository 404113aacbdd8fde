# SPDX-License-Identifier: GPL-3.0-or-later
"""Which clients are here, and why the others are not. clients.sh installs them."""
import os
import shutil

import tool_client
from library_client import LibraryClient

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HOME = os.environ.get('WINCH_INTEROP') or os.path.join(TOP, 'build', 'interop')
INSTALL = 'sh tests/interop/clients.sh installs it'


def installed(*parts):
    return os.path.join(HOME, *parts)


class PythonLibrary(LibraryClient):
    """google-cloud-storage"""

    name = 'python'
    command = (installed('python', 'bin', 'python'), '-B',
               os.path.join(HERE, 'programs', 'python_program.py'))


class Gcsfs(LibraryClient):
    """gcsfs"""

    name = 'gcsfs'
    command = (installed('gcsfs', 'bin', 'python'), '-B',
               os.path.join(HERE, 'programs', 'gcsfs_program.py'))
    # Else it asks for the kind of bucket over gRPC, which the local server does not speak.
    extra_environment = {'GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT': 'false'}
    not_offered = {'multipart': 'gcsfs has no XML multipart upload'}


class NodeLibrary(LibraryClient):
    """@google-cloud/storage"""

    name = 'node'
    command = ('node', os.path.join(HERE, 'programs', 'node_program.js'))
    extra_environment = {'INTEROP_NPM': installed('node')}
    not_offered = {'multipart': 'its multipart upload goes to https://BUCKET.HOST, port 443, alone'}


class GoLibrary(LibraryClient):
    """cloud.google.com/go/storage"""

    name = 'go'
    command = (installed('go', 'bin', 'interop-go'),)
    not_offered = {'multipart': 'the Go library has no XML multipart upload'}


class JavaLibrary(LibraryClient):
    """com.google.cloud:google-cloud-storage"""

    name = 'java'
    command = ('java', '-Xshare:auto', '-XX:TieredStopAtLevel=1', '-cp',
               installed('java', 'classes') + ':' + installed('java', 'lib', '*'), 'Interop')
    not_offered = {'multipart': 'the Java library keeps it in another client'}


CLIENTS = (tool_client.Gcloud, tool_client.Gsutil, tool_client.Rclone, PythonLibrary, Gcsfs,
           NodeLibrary, GoLibrary, JavaLibrary)


def reason_kept(name):
    """What clients.sh said when it could not install it."""
    try:
        with open(installed('reasons', name), encoding='utf-8', errors='replace') as stream:
            return stream.read().strip()
    except OSError:
        return ''


def what_is_installed(name):
    with open(installed(name, 'ok'), encoding='utf-8') as stream:
        return stream.read().strip()


def why_not_installed(name):
    """'' when clients.sh has installed it whole."""
    if os.path.exists(installed(name, 'ok')):
        return ''
    return '%s is not installed: %s' % (name, reason_kept(name) or INSTALL)


def why_absent(client):
    """'' when the client is here; sets the program of those that are looked for."""
    if client.name == 'rclone':
        return '' if shutil.which('rclone') else 'rclone is a Debian package: tests/packages.sh'
    if client.name == 'gcloud':
        client.program = shutil.which('gcloud') or ''
        return '' if client.program else 'gcloud is not here: it comes from Google alone'
    missing = why_not_installed(client.name)
    if client.name == 'gsutil':
        client.program = shutil.which('gsutil') if missing else installed('gsutil', 'bin', 'gsutil')
        return missing if client.program is None else ''
    return missing


ABSENT = {client.name: why_absent(client) for client in CLIENTS}
