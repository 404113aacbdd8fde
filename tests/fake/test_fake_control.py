# SPDX-License-Identifier: GPL-3.0-or-later
"""fake-gcs: options, statistics, holds, faults, latency, tokens, --dir, TLS and hostile input."""
import http.client
import json
import os
import random
import socket
import subprocess
import threading
import time

import pytest

from fake_server import BINARY, Fake, crc32c


@pytest.fixture()
def fake():
    with Fake() as fake:
        yield fake


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.005)


class Background(threading.Thread):
    """A call that is expected to block."""

    def __init__(self, function, *arguments, **named):
        super().__init__(daemon=True)
        self.work = lambda: function(*arguments, **named)
        self.reply = None
        self.start()

    def run(self):
        try:
            self.reply = self.work()
        except (OSError, http.client.HTTPException) as error:
            self.reply = error


# ---- options --------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [
    ["--wrong"], [], ["--port", "x"], ["--port", "65536"], ["--port", "0", "extra"],
    ["--port", "0", "--rights", "fly"], ["--port", "0", "--discard", "--dir", "/tmp"],
    ["--port", "0", "--tree"], ["--port", "0", "--tls", "only-one"],
    ["--port", "0", "--latency-ms", "-1"],
])
def test_usage(options):
    done = subprocess.run([BINARY, *options], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert "fake-gcs" in done.stderr


def test_help():
    done = subprocess.run([BINARY, "--help"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0
    for option in ("--port-file", "--dir", "--tree", "--discard", "--rights", "--latency-ms",
                   "--md5", "--faults", "--tls", "--require-token", "--metadata-token"):
        assert option in done.stdout


def test_bad_files(tmp_path):
    for option in ("--faults", "--bucket-json"):
        script = tmp_path / "bad"
        script.write_text('{"action":"explode"}' if option == "--faults" else "[")
        for path in (script, tmp_path / "absent"):
            done = subprocess.run([BINARY, "--port", "0", option, path], capture_output=True,
                                  text=True, timeout=20)
            assert done.returncode != 0 and path.name in done.stderr


# ---- statistics -----------------------------------------------------------------------------

def test_stats(fake):
    assert fake.stats()["requests"] == 0
    fake.insert("a", b"12345")
    fake.insert("a", b"123")
    fake.insert("b", b"1", ifGenerationMatch="0")
    fake.insert("b", b"1", ifGenerationMatch="0")
    fake.insert("p/.winch/parts/run/1", b"77")
    fake.insert(".winch/parts/2", b"88")
    fake.get("a")
    fake.get("none")
    fake.list()
    fake.delete("a")
    fake.insert("a", b"x")
    stats = fake.stats()
    expected = {"objects": 4, "bytes": 6, "parts_left": 2, "requests": 11, "received_bytes": 15,
                "inserts": 6, "composes": 0, "deletes": 1, "gets": 2, "lists": 1,
                "precondition_failed": 1, "rejected": 1, "max_inserts_per_object": 3,
                "by_status": {"200": 8, "204": 1, "404": 1, "412": 1}, "authorized": 0, "held": 0}
    assert {key: stats[key] for key in expected} == expected
    assert {o["name"]: o["inserts"] for o in fake.objects()} == {
        ".winch/parts/2": 1, "a": 3, "b": 1, "p/.winch/parts/run/1": 1}
    assert fake.objects()[1]["crc32c"] == crc32c(b"x")


def test_received_bytes_are_live(fake):
    with socket.create_connection(("127.0.0.1", fake.port)) as connection:
        connection.sendall(b"POST /upload/storage/v1/b/bk/o?uploadType=media&name=slow HTTP/1.1\r\n"
                           b"Host: h\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 300000)
        wait_for(lambda: fake.stats()["received_bytes"] == 300000)
    assert fake.stats()["inserts"] == 0


# ---- holds ----------------------------------------------------------------------------------

def test_hold_before(fake):
    fake.insert("s")
    fake.call("POST", "/_fake/hold", {"method": "POST", "path_contains": "/compose", "nth": 2})
    assert fake.compose("c1", ["s"]).status == 200
    call = Background(fake.compose, "c2", ["s"])
    wait_for(lambda: fake.stats()["held"] == 1)
    assert fake.get("c2").status == 404
    assert fake.compose("c3", ["s"]).status == 200
    fake.call("POST", "/_fake/release")
    call.join(10)
    assert call.reply.status == 200
    assert fake.stats()["held"] == 0 and fake.get("c2").status == 200


def test_hold_after(fake):
    fake.call("POST", "/_fake/hold", {"name_contains": "pay", "when": "after"})
    call = Background(fake.multipart, {"name": "pay/load"}, b"x")
    wait_for(lambda: fake.stats()["held"] == 1)
    assert fake.get("pay/load").status == 200
    assert call.reply is None
    fake.call("POST", "/_fake/release")
    call.join(10)
    assert call.reply.status == 200


@pytest.mark.parametrize("when, there", [("before", 404), ("after", 200)])
def test_hold_until_the_client_leaves(fake, when, there):
    fake.call("POST", "/_fake/hold", {"path_contains": "name=leave", "when": when})
    with socket.create_connection(("127.0.0.1", fake.port)) as connection:
        connection.sendall(b"POST /upload/storage/v1/b/bk/o?uploadType=media&name=leave "
                           b"HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
        wait_for(lambda: fake.stats()["held"] == 1)
    wait_for(lambda: fake.stats()["held"] == 0)
    assert fake.get("leave").status == there


def test_holds_can_be_disarmed_and_end_with_the_server():
    with Fake() as fake:
        fake.call("POST", "/_fake/hold", {"method": "POST"})
        fake.call("DELETE", "/_fake/hold")
        assert fake.insert("a").status == 200
        assert fake.call("POST", "/_fake/hold", {"when": "later"}).status == 400
        assert fake.call("POST", "/_fake/hold", {"nth": "x"}).status == 400
        fake.call("POST", "/_fake/hold", {"path_contains": "uploadType"})
        Background(fake.insert, "b")
        wait_for(lambda: fake.stats()["held"] == 1)


# ---- faults ---------------------------------------------------------------------------------

def arm(fake, *faults):
    lines = "\n".join(json.dumps(fault) for fault in faults)
    assert fake.call("POST", "/_fake/faults", lines).status == 200


def broken(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except (OSError, http.client.HTTPException):
        return True
    return False


def test_fault_status(tmp_path):
    script = tmp_path / "faults"
    script.write_text("# comment\n\n" + "\n".join(json.dumps(fault) for fault in (
        {"method": "POST", "path_contains": "name=a", "nth": 2, "action": "status", "status": 429,
         "headers": {"Retry-After": "7"}},
        {"path_contains": "name=html", "action": "status", "status": 502, "body": "<html>"},
        {"path_contains": "name=e", "every": 3, "action": "status"},
        {"path_contains": "name=n", "nth": 2, "count": 2, "action": "status", "status": 500})))
    with Fake("--faults", script) as fake:
        replies = [fake.insert("a") for _ in range(3)]
        assert [r.status for r in replies] == [200, 429, 200]
        assert replies[1].headers["Retry-After"] == "7"
        html = fake.insert("html")
        assert (html.status, html.body) == (502, b"<html>")
        assert [fake.insert("e").status for _ in range(6)] == [200, 200, 503, 200, 200, 503]
        assert [fake.insert("n").status for _ in range(4)] == [200, 500, 500, 200]
        assert fake.stats()["faults"] == 6


def test_fault_by_chance():
    def struck(seed, percent):
        with Fake() as fake:
            arm(fake, {"action": "status", "percent": percent, "seed": seed})
            return [fake.get("x").status == 503 for _ in range(400)]
    first = struck(1, 12.5)
    assert first == struck(1, 12.5) != struck(2, 12.5)
    assert 25 <= sum(first) <= 75
    assert sum(struck(3, 100)) == 400
    with Fake() as fake:
        for wrong in (-1, 101, "5", None):
            assert fake.call("POST", "/_fake/faults", json.dumps(
                {"action": "reset", "percent": wrong}).encode()).status == 400


def test_fault_reset_and_lost_reply(fake):
    arm(fake, {"path_contains": "name=gone", "action": "reset"},
        {"path_contains": "name=lost", "nth": 1, "action": "lost_reply"},
        {"path_contains": "name=half", "action": "reset_after_bytes", "bytes": 100000},
        {"name_contains": "by-name", "action": "reset"})
    assert broken(fake.insert, "gone") and fake.get("gone").status == 404
    assert broken(fake.insert, "lost") and fake.get("lost").status == 200
    assert fake.insert("lost", ifGenerationMatch="0").status == 412
    before = fake.stats()["received_bytes"]
    assert broken(fake.insert, "half", b"x" * 1000000)
    assert fake.stats()["received_bytes"] - before == 100000
    assert broken(fake.insert, "half", b"short") and fake.get("half").status == 404
    assert broken(fake.multipart, {"name": "by-name"}, b"x")
    fake.call("DELETE", "/_fake/faults")
    assert fake.insert("gone").status == 200


def test_fault_wrong_crc(fake):
    arm(fake, {"path_contains": "name=w", "nth": 1, "action": "wrong_crc"},
        {"path_contains": "alt=media", "action": "wrong_crc"})
    assert fake.insert("w", b"hello").json["crc32c"] != crc32c(b"hello")
    assert fake.get("w").json["crc32c"] == crc32c(b"hello")
    assert fake.get("w", "alt=media").headers["x-goog-hash"] != "crc32c=" + crc32c(b"hello")


def test_fault_stall_and_cut_reply(fake):
    arm(fake, {"path_contains": "name=reply", "action": "stall", "ms": 200},
        {"path_contains": "name=body", "action": "stall", "ms": 200, "bytes": 70000},
        {"path_contains": "name=cut", "action": "cut_reply"},
        {"path_contains": "alt=media", "action": "cut_reply"})
    for name in ("reply", "body"):
        start = time.monotonic()
        assert fake.insert(name, b"x" * 200000).json["size"] == "200000"
        assert time.monotonic() - start >= 0.19
    assert broken(fake.insert, "cut") and fake.get("cut").status == 200
    assert broken(fake.get, "body", "alt=media")


def test_faults_refused(fake):
    for line in ("x", "[]", '{"action":"explode"}', '{"action":"status","status":99}',
                 '{"action":"stall","ms":-1}', '{"method":"TOO-LONG-A-METHOD","action":"reset"}'):
        reply = fake.call("POST", "/_fake/faults", line)
        assert reply.status == 400 and "line 1" in reply.message


# ---- latency --------------------------------------------------------------------------------

def test_latency_does_not_limit_parallelism():
    with Fake("--latency-ms", "100") as fake:
        start = time.monotonic()
        calls = [Background(fake.insert, "n%d" % i) for i in range(64)]
        for call in calls:
            call.join(20)
        seconds = time.monotonic() - start
        assert all(call.reply.status == 200 for call in calls)
        assert 0.1 <= seconds < 3.2, "64 replies of 100 ms in turn would take 6.4 s"


# ---- tokens ---------------------------------------------------------------------------------

def test_tokens():
    metadata = "/computeMetadata/v1/instance/service-accounts/default/token"
    flavor = {"Metadata-Flavor": "Google"}
    with Fake("--require-token", "secret", "--metadata-token", "secret") as fake:
        reply = fake.insert("a")
        assert (reply.status, reply.reason) == (401, "authError")
        assert fake.insert("a", headers={"Authorization": "Bearer wrong"}).status == 401
        assert fake.insert("a", headers={"Authorization": "Bearer secret"}).status == 200
        assert fake.stats()["authorized"] == 2
        assert fake.call("GET", metadata).status == 403
        reply = fake.call("GET", metadata, headers=flavor)
        assert reply.headers["Metadata-Flavor"] == "Google"
        assert reply.json == {"access_token": "secret", "expires_in": 3600, "token_type": "Bearer"}
        assert b"@" in fake.call("GET", metadata.replace("token", "email"), headers=flavor).body
        for grant in ("urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer", "refresh_token"):
            reply = fake.call("POST", "/token", "assertion=x&grant_type=" + grant)
            assert reply.json["access_token"] == "secret"
        assert fake.call("POST", "/token", "grant_type=password").status == 400
        reply = fake.call("POST", "/v1/projects/-/serviceAccounts/a%40b:generateAccessToken", {})
        assert reply.json["accessToken"] == "secret"
        assert fake.stats()["tokens"] == 4
    with Fake() as fake:
        assert fake.call("GET", metadata, headers=flavor).status == 404
        assert fake.call("POST", "/token", "grant_type=refresh_token").status == 404


# ---- storage --------------------------------------------------------------------------------

def test_discard():
    with Fake("--discard") as fake:
        assert fake.insert("a", b"hello").json["crc32c"] == crc32c(b"hello")
        fake.insert("b", b"world")
        assert fake.compose("c", ["a", "b"]).json["crc32c"] == crc32c(b"helloworld")
        reply = fake.get("c", "alt=media")
        assert reply.status == 501 and "--discard" in reply.message
        assert fake.call("HEAD", "/bk/c").headers["Content-Length"] == "10"
        assert fake.stats()["bytes"] == 20


def test_dir_survives_a_kill(tmp_path):
    fake = Fake("--dir", tmp_path, "--md5")
    generation = fake.insert("a", b"old").json["generation"]
    fake.insert("a", b"new", ifGenerationMatch=generation)
    fake.insert("a/b", b"beside")
    fake.insert("deleted")
    fake.delete("deleted")
    fake.multipart({"name": "m", "metadata": {"k": "\u00e4"}, "cacheControl": "no"}, b"meta")
    fake.call("PATCH", "/storage/v1/b/bk/o/m", {"metadata": {"k2": "v"}})
    fake.compose("both", ["a", "m"])
    expected = {name: fake.get(name).json for name in ("a", "a/b", "m", "both")}
    fake.kill()
    (tmp_path / "data" / "left-over").write_bytes(b"of an upload that was cut")
    with (tmp_path / "index.jsonl").open("ab") as index:
        index.write(b'{"change":"put","bucket":"bk","name":"to')
    for _ in range(2):
        with Fake("--dir", tmp_path, "--md5") as fake:
            for name, json_before in expected.items():
                after = fake.get(name).json
                for links in ("selfLink", "mediaLink"):
                    after.pop(links), json_before.pop(links, None)
                assert after == json_before
            assert fake.get("both", "alt=media").body == b"newmeta"
            assert fake.get("m", "alt=media", headers={"Range": "bytes=1-2"}).body == b"et"
            assert fake.stats()["objects"] == 4
            assert len(os.listdir(tmp_path / "data")) == 4
            assert int(fake.insert("new").json["generation"]) > int(expected["both"]["generation"])
            fake.delete("new")


def test_tree(tmp_path):
    with Fake("--dir", tmp_path, "--tree") as fake:
        for name in ("x/y", "x/z", "x/z/deep", "../escape", "a//b", "x/y"):
            assert fake.insert(name, name.encode()).status == 200
        tree = tmp_path / "tree" / "bk"
        assert (tree / "x" / "y").read_bytes() == b"x/y"
        assert sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()) == [
            "x/y", "x/z"]
        assert not (tmp_path / "tree" / "escape").exists()
        for name in ("x/y", "x/z"):
            fake.delete(name)
        assert not (tree / "x").exists()


def test_tls(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    with Fake("--tls", cert, key, tls=str(cert)) as fake:
        assert fake.insert("a", b"x" * 300000).json["mediaLink"].startswith("https://")
        assert fake.get("a", "alt=media").body == b"x" * 300000


# ---- hostile input --------------------------------------------------------------------------

def test_garbage_does_no_harm(fake):
    source = random.Random(5)
    lines = [b"GET / HTTP/1.1", b"GET /%00/%00 HTTP/1.1", b"GET /storage/v1/b HTTP/1.1",
             b"GET /storage/v1/ HTTP/1.1", b"POST /token HTTP/1.1", b"GET /v1/ HTTP/1.1",
             b"GET /storage/v1/" + b"a/" * 50 + b" HTTP/1.1", b"PUT /%zz/%f HTTP/1.1",
             b"GET /storage/v1/b/bk/o?" + b"a=b&" * 200 + b" HTTP/1.1", b"\0\1\2", b"GET",
             b"GET http://h/storage/v1/b/bk/o HTTP/1.1", b"GET ? HTTP/1.1", b"GET // HTTP/1.1",
             b"POST /storage/v1/b/bk/o/x/compose HTTP/1.1", b"GET /_fake/ HTTP/1.1",
             b"GET /" + b"x" * 200000 + b" HTTP/1.1", b"GET /computeMetadata/ HTTP/1.1"]
    for line in lines:
        fake.raw(line + b"\r\nHost: \"<>\r\nConnection: close\r\nContent-Length: 3\r\n\r\n\0{[")
    for _ in range(60):
        line = bytearray(source.choice(lines))
        for _ in range(5):
            line[source.randrange(len(line))] = source.randrange(256)
        fake.raw(bytes(line) + b"\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert fake.insert("alive").status == 200


@pytest.mark.parametrize("path", ["compose", "rewriteTo/b/bk/o/y", "copyTo/b/bk/o/y"])
@pytest.mark.parametrize("body", [
    '{"sourceObjects":{"name":"x"}}', '{"sourceObjects":[[],1,null]}', '{"destination":[1]}',
    '{"sourceObjects":[{"name":"x"}],"destination":{"metadata":[1,{"a":[]}]}}', "[" * 2000,
    '{"sourceObjects":[{"name":"x","generation":1e300}]}', '{"metadata":{"a":{}}}', '"', "{",
])
def test_hostile_json(fake, path, body):
    fake.insert("x")
    assert fake.call("POST", "/storage/v1/b/bk/o/x/" + path, body).status in (200, 400)
    assert fake.call("PATCH", "/storage/v1/b/bk/o/x", body).status in (200, 400)
    assert fake.call("POST", "/_fake/hold", body).status in (200, 400)


def test_too_large_a_json_body(fake):
    reply = fake.call("POST", "/storage/v1/b/bk/o/x/compose", b" " * (5 << 20))
    assert reply.status == 413


def test_connections_are_reused(fake):
    connection = fake.connect()
    for i in range(50):
        connection.request("POST", "/upload/storage/v1/b/bk/o?uploadType=media&name=%d" % i, b"x")
        reply = connection.getresponse()
        assert reply.status == 200 and reply.read() and not reply.will_close
    connection.close()
