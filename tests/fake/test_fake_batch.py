# SPDX-License-Identifier: GPL-3.0-or-later
"""fake-gcs: what other clients' requests look like: batches, compressed bodies, odd spellings."""
import gzip
import json
import re

import pytest

from fake_server import Fake, crc32c, quote


@pytest.fixture()
def fake():
    with Fake() as fake:
        yield fake


# ---- batch requests --------------------------------------------------------------------------

def batch_body(calls, line="\r\n", boundary="==b=="):
    """Parts as Google's clients write them; a call is (request line, JSON or None)."""
    out = []
    for number, (request, body) in enumerate(calls):
        out += ["--" + boundary, "Content-Type: application/http", "Content-ID: <x+%d>" % number,
                "", request, "Accept-Encoding: gzip", ""]
        out += [json.dumps(body)] if body is not None else [""]
    return (line.join(out + ["--" + boundary + "--", ""])).encode()


def send_batch(fake, body, boundary='"==b=="', path="/batch/storage/v1"):
    return fake.call("POST", path, body,
                     {"Content-Type": "multipart/mixed; boundary=" + boundary})


def replies(reply):
    """[(id, status, JSON or None)] of a multipart/mixed reply."""
    assert reply.status == 200, reply.body
    boundary = re.fullmatch(r"multipart/mixed; boundary=(\S+)", reply.headers["Content-Type"])[1]
    pieces = reply.body.decode().split("--" + boundary)
    assert pieces[0] == "" and pieces[-1].strip() == "--"
    out = []
    for piece in pieces[1:-1]:
        head, inner, body = piece.strip("\r\n").split("\r\n\r\n") + (
            [""] if piece.rstrip("\r\n").count("\r\n\r\n") == 1 else [])
        status = int(re.match(r"HTTP/1\.1 (\d+) ", inner)[1])
        out.append((re.search(r"Content-ID: <response-(.*)>", head)[1], status,
                    json.loads(body) if body.strip() else None))
    return out


@pytest.mark.parametrize("line", ["\r\n", "\n"])
@pytest.mark.parametrize("origin", ["", "http://127.0.0.1:1"])
def test_batch_of_deletes(fake, line, origin):
    for name in ("a", "b c#%", "dir/ü", "stays"):
        fake.insert(name)
    calls = [("DELETE %s/storage/v1/b/bk/o/%s?prettyPrint=false HTTP/1.1" % (origin, quote(name)),
              None) for name in ("a", "b c#%", "not there", "dir/ü")]
    got = replies(send_batch(fake, batch_body(calls, line)))
    assert [(i, status) for i, status, _ in got] == [
        ("x+0", 204), ("x+1", 204), ("x+2", 404), ("x+3", 204)]
    assert got[2][2]["error"]["errors"][0]["reason"] == "notFound"
    assert [o["name"] for o in fake.objects()] == ["stays"]
    assert fake.stats()["deletes"] == 3


def test_batch_of_other_calls(fake):
    generation = fake.insert("a", b"one").json["generation"]
    fake.insert("b", b"two")
    got = replies(send_batch(fake, batch_body([
        ("GET /storage/v1/b/bk/o/a?fields=name,size HTTP/1.1", None),
        ("PATCH /storage/v1/b/bk/o/a HTTP/1.1", {"metadata": {"k": "v"}}),
        ("POST /storage/v1/b/bk/o/c/compose HTTP/1.1",
         {"sourceObjects": [{"name": "a"}, {"name": "b"}]}),
        ("DELETE /storage/v1/b/bk/o/b?ifGenerationMatch=1 HTTP/1.1", None),
        ("DELETE /storage/v1/b/bk/o/a?generation=%s HTTP/1.1" % generation, None),
        ("GET /storage/v1/b/bk/o HTTP/1.1", None),
        ("GET /storage/v1/b/missing-x/o HTTP/1.1", None)])))
    assert [status for _, status, _ in got] == [200, 200, 200, 412, 204, 200, 404]
    assert got[0][2] == {"name": "a", "size": "3"}
    assert got[1][2]["metadata"] == {"k": "v"}
    assert got[2][2]["crc32c"] == crc32c(b"onetwo")
    assert [item["name"] for item in got[5][2]["items"]] == ["b", "c"]


@pytest.mark.parametrize("call", [
    "GET /storage/v1/b/bk/o/a?alt=media HTTP/1.1", "GET /bk/a HTTP/1.1",
    "POST /upload/storage/v1/b/bk/o?uploadType=media&name=x HTTP/1.1",
    "POST /batch/storage/v1 HTTP/1.1", "GET /_fake/stats HTTP/1.1",
    "DELETE /_fake/faults HTTP/1.1", "POST /_fake/release HTTP/1.1"])
def test_batch_moves_no_bytes_and_controls_nothing(fake, call):
    fake.insert("a")
    ((_, status, error),) = replies(send_batch(fake, batch_body([(call, None)])))
    assert status == 400 and "not allowed" in error["error"]["message"]
    assert len(fake.objects()) == 1


@pytest.mark.parametrize("rights, status", [("get,list", 403), ("delete", 204)])
def test_batch_keeps_rights(rights, status):
    with Fake("--rights", "create," + rights) as fake:
        fake.insert("a")
        calls = [("DELETE /storage/v1/b/bk/o/a HTTP/1.1", None)]
        assert [s for _, s, _ in replies(send_batch(fake, batch_body(calls)))] == [status]


def test_batch_needs_the_token_once():
    with Fake("--require-token", "T") as fake:
        body = batch_body([("GET /storage/v1/b/bk/o HTTP/1.1", None)])
        headers = {"Content-Type": 'multipart/mixed; boundary="==b=="'}
        assert fake.call("POST", "/batch/storage/v1", body, headers).status == 401
        headers["Authorization"] = "Bearer T"
        assert fake.call("POST", "/batch/storage/v1", body, headers).status == 200


ONE = ("DELETE /storage/v1/b/bk/o/a HTTP/1.1", None)


@pytest.mark.parametrize("body", [
    b"", b"x", batch_body([]), batch_body([ONE])[:-6], batch_body([ONE]).replace(b"DELETE ", b""),
    batch_body([ONE]).replace(b"\r\n\r\n", b"\r\n"), batch_body([ONE]) .replace(b"gzip", b"g\0p"),
    batch_body([ONE] * 101), batch_body([ONE], boundary="other")])
def test_malformed_batch(fake, body):
    assert send_batch(fake, body).status == 400
    assert fake.stats()["requests"] == 1


@pytest.mark.parametrize("content_type", [
    "multipart/mixed", "multipart/related; boundary=x", "application/json",
    "multipart/mixed; boundary=" + "x" * 300])
def test_batch_wants_its_type(fake, content_type):
    reply = fake.call("POST", "/batch/storage/v1", batch_body([ONE]),
                      {"Content-Type": content_type})
    assert reply.status == 400


def test_largest_batch(fake):
    for number in range(100):
        fake.insert("n%d" % number)
    calls = [("DELETE /storage/v1/b/bk/o/n%d HTTP/1.1" % number, None) for number in range(100)]
    assert {s for _, s, _ in replies(send_batch(fake, batch_body(calls)))} == {204}
    assert fake.objects() == []


# ---- compressed bodies -----------------------------------------------------------------------

ZIPPED = {"Content-Encoding": "gzip"}


def test_compressed_multipart(fake):
    for number, data in enumerate((b"", b"hello", bytes(3 << 20))):
        body = (b"--X\r\nContent-Type: application/json\r\n\r\n{\"name\":\"n%d\"}\r\n--X\r\n"
                b"Content-Type: a/b\r\n\r\n%s\r\n--X--\r\n" % (number, data))
        reply = fake.call("POST", "/upload/storage/v1/b/bk/o?uploadType=multipart",
                          gzip.compress(body),
                          {"Content-Type": "multipart/related; boundary=X", **ZIPPED})
        assert reply.status == 200, reply.body
        assert reply.json["size"] == str(len(data)) and "contentEncoding" not in reply.json
        assert fake.get("n%d" % number, "alt=media").body == data


def test_compressed_media_and_json(fake):
    assert fake.insert("a", gzip.compress(b"one"), headers=ZIPPED).json["crc32c"] == crc32c(b"one")
    body = gzip.compress(json.dumps({"sourceObjects": [{"name": "a"}] * 2}).encode())
    reply = fake.call("POST", "/storage/v1/b/bk/o/c/compose", body, ZIPPED)
    assert reply.status == 200 and reply.json["crc32c"] == crc32c(b"oneone")


def test_compressed_in_many_pieces(fake):
    """Byte by byte, so that every state of the decompression is met."""
    body = gzip.compress(b"some text, some more text")
    head = ("POST /upload/storage/v1/b/bk/o?uploadType=media&name=p HTTP/1.1\r\nHost: x\r\n"
            "Connection: close\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    assert b" 200 " in fake.raw(head.encode() + chunks + b"0\r\n\r\n").split(b"\r\n")[0]
    assert fake.get("p", "alt=media").body == b"some text, some more text"


@pytest.mark.parametrize("body", [
    b"", b"plain", gzip.compress(b"hello")[:-1], gzip.compress(b"hello") + b"x",
    gzip.compress(b"hello")[:-8] + bytes(8), gzip.compress(b"hello")[:12] + b"\xff" * 20])
def test_bad_compressed_body(fake, body):
    reply = fake.insert("a", body, headers=ZIPPED)
    assert reply.status == 400 and fake.objects() == []


def test_content_encoding_of_the_xml_api_is_the_objects(fake):
    data = gzip.compress(b"hello")
    assert fake.call("PUT", "/bk/x", data, ZIPPED).status == 200
    assert fake.get("x").json["contentEncoding"] == "gzip"
    assert fake.get("x", "alt=media").body == data


# ---- odd spellings ---------------------------------------------------------------------------

def test_method_override(fake):
    fake.insert("a")
    reply = fake.call("POST", "/storage/v1/b/bk/o/a", {"metadata": {"k": "v"}},
                      {"X-HTTP-Method-Override": "PATCH"})
    assert reply.status == 200 and reply.json["metadata"] == {"k": "v"}
    assert fake.call("POST", "/storage/v1/b/bk/o/a", b"",
                     {"X-HTTP-Method-Override": "TRACE"}).status == 404
    assert fake.call("GET", "/storage/v1/b/bk/o/a",
                     headers={"X-HTTP-Method-Override": "DELETE"}).status == 200
    assert fake.call("POST", "/storage/v1/b/bk/o/a", b"",
                     {"X-HTTP-Method-Override": "DELETE"}).status == 204


def test_compose_takes_null_as_absent(fake):
    fake.insert("a", b"one")
    source = {"name": "a", "generation": None, "objectPreconditions": {"ifGenerationMatch": None}}
    assert fake.compose("c", [source]).json["crc32c"] == crc32c(b"one")
    source["generation"] = "1"
    assert fake.compose("c", [source]).status == 404
    source["generation"] = {}
    assert fake.compose("c", [source]).status == 400
