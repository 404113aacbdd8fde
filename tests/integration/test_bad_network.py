# SPDX-License-Identifier: GPL-3.0-or-later
"""An endpoint that is not what was said, and a bucket that goes away: a message that names the
cause, an exit code, and not a failure for each of many files."""
import http.server
import json
import subprocess
import threading

import pytest

from conftest import MOVE
from local_storage import DESTINATION

OPTIONS = ('--progress', 'none')
GIVE_UP = ('--give-up', '3s')
GONE = ('{"error":{"code":404,"message":"The specified bucket does not exist.","errors":'
        '[{"domain":"global","reason":"notFound","message":"The specified bucket does not '
        'exist."}]}}')


@pytest.fixture
def image(images):
    return images.get('move', *MOVE)


@pytest.fixture(scope='module')
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp('tls')
    cert, key = str(folder / 'cert.pem'), str(folder / 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key,
                    '-out', cert, '-days', '2', '-subj', '/CN=localhost', '-addext',
                    'subjectAltName=IP:127.0.0.1'], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return cert, key


def migrate(winch, image, url, *options, expect, **environment):
    return winch.migrate(None, image, DESTINATION, *OPTIONS, *options, expect=expect,
                         STORAGE_EMULATOR_HOST=url, **environment)


def test_tls_where_http_was_said(start_storage, winch, image, certificate):
    storage = start_storage('--tls', *certificate)
    result = migrate(winch, image, 'http://127.0.0.1:%d' % storage.port, *GIVE_UP, expect=75)
    assert 'if it speaks TLS, say https:// in the endpoint' in result.json['error'], str(result)


def test_http_where_tls_was_said(storage, winch, image):
    result = migrate(winch, image, 'https://127.0.0.1:%d' % storage.port, *GIVE_UP, expect=75)
    assert 'if it speaks plain http, say http:// in the endpoint' in result.json['error']


def test_untrusted_certificate(start_storage, winch, new_winch, image, certificate):
    storage = start_storage('--tls', *certificate)
    url = 'https://127.0.0.1:%d' % storage.port
    result = migrate(winch, image, url, expect=4)
    assert '--ca-file' in result.json['error'] and result.seconds < 20, str(result)
    migrate(winch, image, url, '--ca-file', certificate[0], expect=0)
    migrate(new_winch('by variable'), image, url, expect=0, WINCH_CA_FILE=certificate[0])


class Proxy(http.server.BaseHTTPRequestHandler):
    """Answers everything with a page, as a portal or a proxy does that wants a login."""
    protocol_version = 'HTTP/1.1'
    status = 200

    def do_GET(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        page = b'<html><head><title>Sign in</title></head><body>Please sign in</body></html>'
        self.send_response(self.status)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *arguments):
        pass


@pytest.fixture
def proxy():
    servers = []

    def start(status):
        handler = type('Proxy%d' % status, (Proxy,), {'status': status})
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return 'http://127.0.0.1:%d' % server.server_address[1]
    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize('status,exits', ((200, (75,)), (302, (5, 75)), (403, (4,)), (407, (5, 75)),
                                          (502, (75,))))
def test_a_page_for_an_answer(status, exits, proxy, winch, image):
    """Nothing is taken for an upload, and the page is not shown as a wall of HTML."""
    result = migrate(winch, image, proxy(status), *GIVE_UP, expect=None)
    assert result.exit in exits, str(result)
    assert result.json['streams_uploaded'] == 0 and result.json['failed'] == 0, str(result)
    assert len(result.json['error']) < 700 and result.seconds < 30, str(result)


@pytest.mark.parametrize('nth', (1, 30, 700))
def test_the_bucket_goes_away(nth, start_storage, winch, image, tmp_path):
    faults = tmp_path / 'faults'
    faults.write_text(json.dumps({'nth': nth, 'count': 10**9, 'action': 'status', 'status': 404,
                                  'body': GONE}) + '\n')
    storage = start_storage('--faults', str(faults))
    result = winch.migrate(storage, image, DESTINATION, *OPTIONS, expect=5)
    assert "check the bucket's name" in result.json['error'], result.json['error']
    assert result.json['failed'] == 0 and result.seconds < 15, str(result)
    assert storage.stats()['requests'] < nth + 100


def test_a_name_that_resolves_no_more(start_storage, winch, image):
    """DNS that fails is waited for, and named."""
    result = migrate(winch, image, 'http://storage.invalid:1', *GIVE_UP, expect=75)
    assert 'storage.invalid' in result.json['error'], result.json['error']
    assert 'resolve' in result.json['error'].lower(), result.json['error']
