# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts fake-gcs for a test and talks to it with http.client alone."""
import base64
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("FAKE_GCS", str(ROOT / "build" / "fake-gcs"))


def crc32c(data):
    """The base64 form that Cloud Storage states. Slow and plain on purpose."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


def quote(name):
    return urllib.parse.quote(name, safe="")


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def reason(self):
        return self.json["error"]["errors"][0]["reason"]

    @property
    def message(self):
        return self.json["error"]["message"]


class Fake:
    """One running fake-gcs; a context manager."""

    def __init__(self, *options, tls=None):
        self.folder = tempfile.TemporaryDirectory()
        self.tls = tls
        port_file = pathlib.Path(self.folder.name) / "port"
        self.process = subprocess.Popen(
            [BINARY, "--port", "0", "--port-file", str(port_file), *map(str, options)],
            stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not port_file.exists():
            assert self.process.poll() is None, "fake-gcs ended at once"
            assert time.monotonic() < end, "fake-gcs does not listen"
            time.sleep(0.01)
        self.port = int(port_file.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()

    def stop(self):
        self.process.terminate()
        code = self.process.wait(timeout=20)
        self.folder.cleanup()
        assert code == 0, "fake-gcs ended with %d" % code

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=20)
        self.folder.cleanup()

    def connect(self):
        if self.tls:
            context = ssl.create_default_context(cafile=self.tls)
            context.check_hostname = False
            return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=20)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def call(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            connection.request(method, path, body=body, headers=headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        finally:
            connection.close()

    def raw(self, data):
        """Send bytes as they are; all that comes back until the server closes or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=3) as connection:
            received = b""
            try:
                connection.sendall(data)
                while True:
                    piece = connection.recv(65536)
                    if not piece:
                        return received
                    received += piece
            except OSError:
                return received

    # The calls most tests need.

    def insert(self, name, data=b"hello", bucket="bk", headers=None, **query):
        query = {"uploadType": "media", "name": name, **query}
        return self.call("POST", "/upload/storage/v1/b/%s/o?%s" % (
            bucket, urllib.parse.urlencode(query)), data,
            {"Content-Type": "text/plain", **(headers or {})})

    def multipart(self, metadata, data, boundary="XyZ", line="\r\n", query="", headers=None):
        body = line.join([
            "--" + boundary, "Content-Type: application/json; charset=UTF-8", "",
            json.dumps(metadata), "--" + boundary, "Content-Type: text/x-test", "", ""]).encode()
        body += data + (line + "--" + boundary + "--" + line).encode()
        return self.call(
            "POST", "/upload/storage/v1/b/bk/o?uploadType=multipart" + query, body,
            {"Content-Type": "multipart/related; boundary=\"%s\"" % boundary, **(headers or {})})

    def get(self, name, query="", bucket="bk", headers=None):
        return self.call("GET", "/storage/v1/b/%s/o/%s?%s" % (bucket, quote(name), query),
                         headers=headers)

    def delete(self, name, query="", bucket="bk"):
        return self.call("DELETE", "/storage/v1/b/%s/o/%s?%s" % (bucket, quote(name), query))

    def compose(self, name, sources, query="", **body):
        sources = [{"name": s} if isinstance(s, str) else s for s in sources]
        return self.call("POST", "/storage/v1/b/bk/o/%s/compose?%s" % (quote(name), query),
                         {"sourceObjects": sources, **body})

    def list(self, **query):
        return self.call("GET", "/storage/v1/b/bk/o?" + urllib.parse.urlencode(query)).json

    def stats(self):
        return self.call("GET", "/_fake/stats").json

    def objects(self, bucket="bk"):
        lines = self.call("GET", "/_fake/objects?bucket=" + bucket).body.splitlines()
        return [json.loads(line) for line in lines]
