# SPDX-License-Identifier: GPL-3.0-or-later
"""fake-gcs: the ways to send an object: multipart/related, resumable, XML PUT, XML multipart."""
import base64
import hashlib
import re
import socket
import time

import pytest

from fake_server import Fake, crc32c

GRANULE = 262144


@pytest.fixture(scope="module")
def shared():
    with Fake() as fake:
        yield fake


@pytest.fixture()
def fake():
    with Fake() as fake:
        yield fake


# ---- multipart/related ----------------------------------------------------------------------

def test_multipart(shared):
    reply = shared.multipart(
        {"name": "m/1", "crc32c": crc32c(b"hello"), "contentType": "a/b",
         "cacheControl": "no-store",
         "customTime": "2026-11-29T21:58:52.1Z", "storageClass": "ARCHIVE",
         "metadata": {"goog-reserved-file-mtime": "5", "umlaut": "\u00e4\"\\"}}, b"hello")
    json = reply.json
    assert reply.status == 200
    assert (json["name"], json["size"], json["contentType"]) == ("m/1", "5", "a/b")
    assert json["metadata"] == {"goog-reserved-file-mtime": "5", "umlaut": "\u00e4\"\\"}
    assert (json["storageClass"], json["cacheControl"]) == ("ARCHIVE", "no-store")
    assert json["customTime"] == "2026-11-29T21:58:52.1Z"
    assert shared.multipart({"name": "m/2"}, b"x").json["contentType"] == "text/x-test"


@pytest.mark.parametrize("line", ["\r\n", "\n"])
@pytest.mark.parametrize("data", [
    b"", b"\r\n", b"\n", b"--", b"\r\n--", b"\r\n--XyZ"[:-1], b"\r\n--XyY--\r\n", b"\r\r\n\n--Xy",
    b"a" * 70000, b"\r\n--X" * 40000, bytes(range(256)) * 4096,
], ids=str)
def test_multipart_carries_any_bytes(shared, line, data):
    assert shared.multipart({"name": "any"}, data, line=line).status == 200
    assert shared.get("any", "alt=media").body == data


def test_multipart_in_single_bytes(shared):
    body = (b"preamble\r\n--b'(x\r\nContent-Type: application/json\r\n\r\n{\"name\":\"slow\"}\r\n"
            b"--b'(x \r\nContent-Type: text/plain\r\n\r\n\r\n--b'(y\r\n--b'(x--\r\nepilogue")
    head = ("POST /upload/storage/v1/b/bk/o?uploadType=multipart HTTP/1.1\r\nHost: h\r\n"
            "Content-Type: multipart/related; boundary=b'(x\r\nContent-Length: %d\r\n\r\n"
            % len(body)).encode()
    with socket.create_connection(("127.0.0.1", shared.port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head)
        for i in range(len(body)):
            connection.sendall(body[i:i + 1])
            time.sleep(0.0005)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
    assert shared.get("slow", "alt=media").body == b"\r\n--b'(y"


def test_multipart_checks(shared):
    wrong = shared.multipart({"name": "w", "crc32c": crc32c(b"other")}, b"hello")
    assert (wrong.status, wrong.reason) == (400, "invalid")
    md5 = base64.b64encode(hashlib.md5(b"hello").digest()).decode()
    assert shared.multipart({"name": "w", "md5Hash": md5}, b"hello").status == 200
    assert shared.multipart({"name": "w", "md5Hash": md5}, b"hellO").status == 400
    assert shared.multipart({"name": "w"}, b"x", query="&ifGenerationMatch=0").status == 412
    assert shared.multipart({"name": "w"}, b"x", query="&name=query").json["name"] == "query"
    assert shared.multipart({}, b"x").reason == "required"
    for metadata in ({"metadata": {"k": "v" * 8192}}, {"metadata": {"k": 5}}, {"metadata": "x"},
                     {"storageClass": "WARM"}, {"customTime": "yesterday"}, {"contentType": 5},
                     {"crc32c": "rubbish"}, {"name": "a\nb"}):
        reply = shared.multipart({"name": "w2", **metadata}, b"x")
        assert (reply.status, reply.reason) == (400, "invalid"), metadata
    assert shared.multipart({"name": "w2", "metadata": {"k": "v" * 8191}}, b"x").status == 200
    assert shared.get("w2").json["size"] == "1"


@pytest.mark.parametrize("content_type", [
    None, "text/plain", "multipart/related", "multipart/related; boundary=",
    "multipart/related; boundary=" + "x" * 300,
])
def test_multipart_without_a_boundary(shared, content_type):
    headers = {} if content_type is None else {"Content-Type": content_type}
    reply = shared.call("POST", "/upload/storage/v1/b/bk/o?uploadType=multipart", b"x", headers)
    assert reply.status == 400


@pytest.mark.parametrize("body", [
    b"", b"x", b"--b", b"--b\r\n", b"--b\r\n\r\n{}", b"--b\r\n\r\n{\"name\":\"n\"}\r\n--b--\r\n",
    b"--b\r\n\r\n[]\r\n--b\r\n\r\nx\r\n--b--",
    b"--b\r\n\r\n{\"name\":\"n\"}\r\n--b\r\n\r\nx\r\n--b",
    b"--b\r\n\r\n{\"name\":\"n\"}\r\n--b\r\n\r\nx\r\n--b\r\n\r\nthird\r\n--b--",
    b"--b\r\n\r\n" + b"{" * 200000, b"[" * 300000,
])
def test_multipart_malformed(shared, body):
    reply = shared.call("POST", "/upload/storage/v1/b/bk/o?uploadType=multipart", body,
                        {"Content-Type": "multipart/related; boundary=b"})
    assert reply.status == 400
    assert shared.get("n").status == 404


# ---- resumable ------------------------------------------------------------------------------

def start(fake, name="res", metadata=None, headers=None, query=""):
    reply = fake.call("POST", "/upload/storage/v1/b/bk/o?uploadType=resumable&name=%s%s"
                      % (name, query), metadata or {}, headers)
    assert reply.status == 200, reply.body
    location = reply.headers["Location"]
    assert location.startswith("http://127.0.0.1:%d/" % fake.port)
    return location.split(str(fake.port), 1)[1]


def put(fake, session, data, content_range, **headers):
    return fake.call("PUT", session, data, {"Content-Range": content_range, **headers})


def test_resumable_in_chunks(fake):
    data = bytes(range(256)) * 2500
    session = start(fake, metadata={"contentType": "a/b", "metadata": {"k": "v"}})
    assert fake.stats()["parts_left"] == 1
    total = len(data)
    query = put(fake, session, b"", "bytes */%d" % total)
    assert (query.status, query.headers["Range"]) == (308, None)
    first = put(fake, session, data[:GRANULE], "bytes 0-%d/%d" % (GRANULE - 1, total))
    assert (first.status, first.headers["Range"]) == (308, "bytes=0-262143")
    assert put(fake, session, b"", "bytes */*").headers["Range"] == "bytes=0-262143"
    last = put(fake, session, data[GRANULE:], "bytes %d-%d/%d" % (GRANULE, total - 1, total))
    assert (last.status, last.json["size"]) == (200, str(total))
    assert (last.json["contentType"], last.json["metadata"]) == ("a/b", {"k": "v"})
    assert fake.get("res", "alt=media").body == data
    done = put(fake, session, b"", "bytes */%d" % total)
    assert (done.status, done.json["generation"]) == (200, last.json["generation"])
    stats = fake.stats()
    assert (stats["parts_left"], stats["inserts"]) == (0, 1)


def test_resumable_unknown_total(shared):
    data = b"z" * (2 * GRANULE)
    session = start(shared, "unknown")
    assert put(shared, session, data[:GRANULE], "bytes 0-%d/*" % (GRANULE - 1)).status == 308
    reply = put(shared, session, data[GRANULE:], "bytes %d-%d/*" % (GRANULE, 2 * GRANULE - 1))
    assert reply.headers["Range"] == "bytes=0-524287"
    assert put(shared, session, b"", "bytes */%d" % (2 * GRANULE)).json["size"] == "524288"
    session = start(shared, "nothing")
    assert put(shared, session, b"", "bytes */0").json["size"] == "0"


def test_resumable_in_one_put(shared):
    assert shared.call("PUT", start(shared), b"whole").json["size"] == "5"
    assert put(shared, start(shared), b"whole", "bytes 0-4/5").json["crc32c"] == crc32c(b"whole")
    assert put(shared, start(shared), b"whole", "bytes 0-4/*").status == 400
    assert shared.call("PUT", start(shared), b"").json["size"] == "0"


def test_resumable_for_go_clients(shared):
    session = start(shared)
    reply = put(shared, session, b"", "bytes */*", **{"X-GUploader-No-308": "yes"})
    assert (reply.status, reply.headers["X-HTTP-Status-Code-Override"]) == (200, "308")
    reply = put(shared, session, b"a" * GRANULE, "bytes 0-262143/*",
                **{"X-GUploader-No-308": "yes"})
    assert (reply.status, reply.headers["Range"]) == (200, "bytes=0-262143")


def test_resumable_refuses(shared):
    session = start(shared)
    for content_range, data in (("bytes 0-99/1000", b"a" * 100), ("bytes 0-4/5", b"abc"),
                                ("bytes 0-2/5", b"abc"), ("rubbish", b"abc"),
                                ("bytes 5-2/9", b"abc"), ("bytes 0-9/5", b"a" * 10),
                                ("bytes */x", b""), ("bytes */9", b"abc")):
        assert put(shared, session, data, content_range).status == 400, content_range
    gap = put(shared, session, b"a" * GRANULE, "bytes 262144-524287/*")
    assert gap.status == 503
    session = start(shared, headers={"X-Upload-Content-Length": "7"})
    assert put(shared, session, b"12345", "bytes 0-4/5").status == 400
    assert put(shared, session, b"1234567", "bytes 0-6/7").status == 200
    lost = "/upload/storage/v1/b/bk/o?upload_id=lost"
    assert put(shared, lost, b"x", "bytes 0-0/1").status == 404


def test_resumable_duplicates_are_skipped(shared):
    data = hashlib.sha512(b"x").digest() * 8192
    session = start(shared, "dup")
    total = len(data)
    put(shared, session, data[:GRANULE], "bytes 0-262143/%d" % total)
    reply = put(shared, session, data, "bytes 0-%d/%d" % (total - 1, total))
    assert reply.status == 200
    assert shared.get("dup", "alt=media").body == data
    assert reply.json["crc32c"] == shared.get("dup").json["crc32c"]


def test_resumable_keeps_whole_granules_of_a_broken_connection(shared):
    data = b"q" * (2 * GRANULE + 1000)
    session = start(shared, "broken")
    total = len(data)
    before = shared.stats()["received_bytes"]
    with socket.create_connection(("127.0.0.1", shared.port)) as connection:
        connection.sendall(("PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n"
                            "Content-Range: bytes 0-%d/%d\r\n\r\n"
                            % (session, total, total - 1, total)).encode())
        connection.sendall(data[:GRANULE + 5000])
        end = time.monotonic() + 10
        while shared.stats()["received_bytes"] < before + GRANULE + 5000:
            assert time.monotonic() < end
    # The query has taken the session over; what the broken connection still sends is ignored.
    reply = put(shared, session, b"", "bytes */%d" % total)
    assert (reply.status, reply.headers["Range"]) == (308, "bytes=0-262143")
    reply = put(shared, session, data[GRANULE:], "bytes %d-%d/%d" % (GRANULE, total - 1, total))
    assert reply.json["size"] == str(total)


def test_resumable_cancel_and_checks(fake):
    session = start(fake)
    assert fake.call("DELETE", session).status == 499
    assert put(fake, session, b"", "bytes */*").status == 404
    assert fake.stats()["parts_left"] == 0
    bad = start(fake, metadata={"crc32c": crc32c(b"other")})
    assert fake.call("PUT", bad, b"hello").status == 400
    assert fake.get("res").status == 404
    late = start(fake, query="&ifGenerationMatch=0")
    fake.insert("res")
    assert fake.call("PUT", late, b"hello").status == 412
    reply = fake.call("POST", "/upload/storage/v1/b/bk/o?uploadType=resumable&name=res"
                      "&ifGenerationMatch=0", {})
    assert reply.status == 412
    assert fake.call("POST", "/upload/storage/v1/b/bk/o?uploadType=resumable", {}).status == 400
    assert fake.call("POST", "/upload/storage/v1/b/bk/o?uploadType=resumable",
                     {"name": "n"}).status == 200


# ---- XML API --------------------------------------------------------------------------------

def test_xml_put(shared):
    reply = shared.call("PUT", "/bk/x/y%20z", b"hello", {
        "Content-Type": "a/b", "x-goog-hash": "crc32c=" + crc32c(b"hello"),
        "x-goog-meta-Key": "v", "x-goog-if-generation-match": "0"})
    assert reply.status == 200 and reply.headers["x-goog-generation"]
    json = shared.get("x/y z").json
    assert (json["metadata"], json["contentType"]) == ({"key": "v"}, "a/b")
    reply = shared.call("GET", "/bk/x/y%20z")
    assert (reply.body, reply.headers["x-goog-meta-key"]) == (b"hello", "v")
    again = shared.call("PUT", "/bk/x/y%20z", b"hello", {"x-goog-if-generation-match": "0"})
    assert again.status == 412 and b"PreconditionFailed" in again.body
    assert shared.call("DELETE", "/bk/x/y%20z").status == 204


def start_mpu(fake, name="mpu"):
    reply = fake.call("POST", "/bk/%s?uploads" % name, b"", {"x-goog-meta-k": "v"})
    return re.search("<UploadId>(.*)</UploadId>", reply.body.decode()).group(1)


def complete(fake, upload, parts, name="mpu"):
    body = "<CompleteMultipartUpload>%s</CompleteMultipartUpload>" % "".join(
        "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>" % part for part in parts)
    return fake.call("POST", "/bk/%s?uploadId=%s" % (name, upload), body)


def test_xml_multipart(fake):
    upload = start_mpu(fake)
    path = "/bk/mpu?uploadId=%s&partNumber=" % upload
    big = b"b" * (5 << 20)
    last = fake.call("PUT", path + "7", b"end").headers["ETag"]
    fake.call("PUT", path + "2", b"replaced")
    first = fake.call("PUT", path + "2", big).headers["ETag"]
    assert fake.stats()["parts_left"] == 1
    assert upload.encode() in fake.call("GET", "/bk?uploads").body
    assert fake.call("PUT", path + "0", b"x").status == 400
    assert fake.call("PUT", path + "10001", b"x").status == 400
    bad = {"x-goog-hash": "crc32c=" + crc32c(b"other")}
    assert fake.call("PUT", path + "3", b"x", bad).status == 400
    assert b"InvalidPartOrder" in complete(fake, upload, [(7, last), (2, first)]).body
    assert b"InvalidPart" in complete(fake, upload, [(2, '"rubbish"')]).body
    assert b"InvalidPart" in complete(fake, upload, [(3, first)]).body
    assert complete(fake, upload, []).status == 400
    assert complete(fake, upload, [(2, first), (7, last)]).status == 200
    json = fake.get("mpu").json
    assert (json["size"], json["metadata"]) == (str((5 << 20) + 3), {"k": "v"})
    assert fake.get("mpu", "alt=media").body == big + b"end"
    assert fake.stats()["parts_left"] == 0
    assert complete(fake, upload, [(2, first)]).status == 404


def test_xml_multipart_small_part_and_abort(fake):
    upload = start_mpu(fake)
    path = "/bk/mpu?uploadId=%s" % upload
    etags = [fake.call("PUT", path + "&partNumber=%d" % i, b"x").headers["ETag"] for i in (1, 2)]
    assert b"EntityTooSmall" in complete(fake, upload, [(1, etags[0]), (2, etags[1])]).body
    assert fake.call("DELETE", path).status == 204
    assert fake.call("PUT", path + "&partNumber=1", b"x").status == 404
    assert fake.stats()["parts_left"] == 0
