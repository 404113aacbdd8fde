# SPDX-License-Identifier: GPL-3.0-or-later
"""fake-gcs: objects, their rules, listings, compose, copies, buckets and rights."""
import hashlib
import base64

import pytest

from fake_server import Fake, crc32c, quote


@pytest.fixture(scope="module")
def shared():
    with Fake() as fake:
        yield fake


@pytest.fixture()
def fake():
    with Fake() as fake:
        yield fake


# ---- insert, get, delete --------------------------------------------------------------------

def test_insert_states_what_cloud_storage_states(fake):
    reply = fake.insert("dir/a b+c.txt", b"hello")
    assert reply.status == 200
    json = reply.json
    assert json["kind"] == "storage#object"
    assert json["name"] == "dir/a b+c.txt"
    assert json["bucket"] == "bk"
    assert json["size"] == "5"
    assert json["crc32c"] == crc32c(b"hello") == "mnG7TA=="
    assert json["metageneration"] == "1"
    assert json["contentType"] == "text/plain"
    assert json["storageClass"] == "STANDARD"
    assert json["id"] == "bk/dir/a b+c.txt/" + json["generation"]
    assert json["timeCreated"].endswith("Z") and json["updated"] == json["timeCreated"]
    assert json["mediaLink"].startswith("http://127.0.0.1:%d/download/" % fake.port)
    assert "%2F" in json["selfLink"] and json["etag"]
    assert "md5Hash" not in json and "componentCount" not in json


def test_generations_increase(shared):
    numbers = [int(shared.insert("gen-%d" % i).json["generation"]) for i in range(20)]
    assert numbers == sorted(set(numbers)) and numbers[0] > 1600000000000000


def test_get_metadata_and_media(shared):
    generation = shared.insert("g", b"0123456789").json["generation"]
    assert shared.get("g").json["generation"] == generation
    media = shared.get("g", "alt=media")
    assert (media.status, media.body) == (200, b"0123456789")
    assert media.headers["x-goog-hash"] == "crc32c=" + crc32c(b"0123456789")
    assert media.headers["x-goog-generation"] == generation
    assert media.headers["x-goog-stored-content-length"] == "10"
    assert shared.call("GET", "/download/storage/v1/b/bk/o/g?alt=media").body == b"0123456789"
    assert shared.call("GET", "/bk/g").body == b"0123456789"
    head = shared.call("HEAD", "/bk/g")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, "10", b"")
    assert shared.get("g", "generation=" + generation).status == 200
    assert shared.get("g", "generation=1").status == 404
    assert shared.get("none").reason == "notFound"
    assert b"<Code>NoSuchKey</Code>" in shared.call("GET", "/bk/none").body


@pytest.mark.parametrize("header, status, body, content_range", [
    ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
    ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
    ("bytes=-2", 206, b"89", "bytes 8-9/10"),
    ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
    ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
    ("bytes=10-", 416, None, "bytes */10"),
    ("bytes=-0", 416, None, "bytes */10"),
    ("bytes=5-2", 200, b"0123456789", None),
    ("bytes=0-1,3-4", 200, b"0123456789", None),
    ("rubbish", 200, b"0123456789", None),
    ("bytes=99999999999999999999999999-", 200, b"0123456789", None),
])
def test_ranges(shared, header, status, body, content_range):
    shared.insert("r", b"0123456789")
    reply = shared.get("r", "alt=media", headers={"Range": header})
    assert reply.status == status
    assert body is None or reply.body == body
    assert reply.headers["Content-Range"] == content_range


def test_empty_object(shared):
    assert shared.insert("empty", b"").json["crc32c"] == "AAAAAA=="
    assert shared.get("empty", "alt=media").body == b""


def test_large_object_survives_many_segments(shared):
    data = hashlib.sha512(b"seed").digest() * 60000
    assert shared.insert("large", data).json["size"] == str(len(data))
    assert shared.get("large", "alt=media").body == data
    part = shared.get("large", "alt=media", headers={"Range": "bytes=1048570-2097160"})
    assert part.body == data[1048570:2097161]


def test_delete(shared):
    generation = shared.insert("d").json["generation"]
    assert shared.delete("d", "generation=1").status == 404
    assert shared.delete("d", "ifGenerationMatch=1").status == 412
    assert shared.delete("d", "generation=" + generation).status == 204
    assert shared.delete("d").status == 404
    assert shared.get("d").status == 404


def test_preconditions(shared):
    shared.delete("p")
    assert shared.insert("p", ifGenerationMatch="5").status == 412
    first = shared.insert("p", ifGenerationMatch="0").json["generation"]
    again = shared.insert("p", ifGenerationMatch="0")
    assert (again.status, again.reason) == (412, "conditionNotMet")
    second = shared.insert("p", ifGenerationMatch=first).json["generation"]
    assert int(second) > int(first)
    assert shared.insert("p", ifGenerationNotMatch=second).status == 412
    assert shared.insert("p", ifMetagenerationMatch="2").status == 412
    assert shared.insert("p", ifMetagenerationMatch="1").status == 200
    assert shared.insert("p", ifGenerationMatch="x").reason == "invalid"
    now = shared.get("p").json["generation"]
    assert shared.get("p", "ifGenerationNotMatch=" + now).status == 304
    assert shared.get("p", "ifGenerationMatch=1").status == 412
    assert shared.get("p", "alt=media&ifGenerationNotMatch=" + now).status == 304


def test_checksums_of_media(shared):
    good = {"X-Goog-Hash": "crc32c=" + crc32c(b"hello")}
    assert shared.insert("h", b"hello", headers=good).status == 200
    bad = shared.insert("h2", b"hellO", headers=good)
    assert (bad.status, bad.reason) == (400, "invalid")
    assert "CRC32C" in bad.message
    assert shared.get("h2").status == 404
    md5 = base64.b64encode(hashlib.md5(b"hello").digest()).decode()
    both = {"X-Goog-Hash": "crc32c=%s,md5=%s" % (crc32c(b"hello"), md5)}
    assert "md5Hash" not in shared.insert("h", b"hello", headers=both).json
    assert shared.insert("h", b"hellO", headers={"X-Goog-Hash": "md5=" + md5}).status == 400
    assert shared.insert("h", b"x", headers={"X-Goog-Hash": "crc32c=rubbish"}).status == 400


def test_md5_option():
    with Fake("--md5") as fake:
        md5 = base64.b64encode(hashlib.md5(b"hello").digest()).decode()
        assert fake.insert("a", b"hello").json["md5Hash"] == md5
        assert fake.get("a").json["md5Hash"] == md5
        assert "md5Hash" not in fake.compose("c", ["a", "a"]).json


@pytest.mark.parametrize("name, good", [
    ("a" * 1024, True), ("a" * 1025, False), ("\u00e4" * 512, True), ("\u00e4" * 513, False),
    (".", False), ("..", False), ("a/../b", True), ("x\ry", False), ("x\ny", False),
    (".well-known/acme-challenge/x", False), (".well-known/x", True), ("#[]*?:\"<>|", True),
    ("%2F literally", True), ("", False), ("\U0001f600", True), ("x\0y", False),
])
def test_object_names(shared, name, good):
    reply = shared.insert(name)
    assert reply.status == (200 if good else 400)
    if good:
        assert reply.json["name"] == name
        assert shared.get(name).json["name"] == name
    else:
        assert reply.reason == "invalid"


def test_names_that_are_not_utf8(shared):
    reply = shared.call("POST", "/upload/storage/v1/b/bk/o?uploadType=media&name=%FF%FE", b"x")
    assert (reply.status, reply.reason) == (400, "invalid")


def test_slash_must_be_escaped(shared):
    shared.insert("s/t")
    assert shared.call("GET", "/storage/v1/b/bk/o/s%2Ft").status == 200
    assert shared.call("GET", "/storage/v1/b/bk/o/s/t").status == 404
    assert shared.call("GET", "/bk/s/t").status == 200


def test_missing_buckets(shared):
    for reply in (shared.insert("a", bucket="missing-1"), shared.get("a", bucket="missing-1"),
                  shared.call("GET", "/storage/v1/b/missing-1/o"),
                  shared.call("GET", "/storage/v1/b/missing-1")):
        assert (reply.status, reply.reason) == (404, "notFound")
    assert shared.call("GET", "/storage/v1/b/no%2Fbucket/o").status == 400


def test_patch_and_update(fake):
    fake.multipart({"name": "m", "metadata": {"a": "1", "b": "2"}}, b"x")
    path = "/storage/v1/b/bk/o/m"
    reply = fake.call("PATCH", path, {"metadata": {"a": None, "c": "3"}, "cacheControl": "no"})
    assert reply.json["metadata"] == {"b": "2", "c": "3"}
    assert (reply.json["metageneration"], reply.json["cacheControl"]) == ("2", "no")
    assert fake.call("PUT", path, {"metadata": {"z": "9"}}).json["metadata"] == {"z": "9"}
    assert fake.call("PATCH", path + "?ifMetagenerationMatch=1", {}).status == 412
    assert fake.call("PATCH", path, {"metadata": {"k": "v" * 9000}}).status == 400
    assert fake.call("PATCH", path, "no json").status == 400
    assert fake.get("m", "alt=media").body == b"x"


# ---- listing --------------------------------------------------------------------------------

def test_list(fake):
    names = ["a", "a/1", "a/2", "b/x/1", "b/x/2", "b/y", "c", "\u00e4"]
    for name in reversed(names):
        fake.insert(name)
    fake.insert("gone")
    fake.delete("gone")

    def names_of(**query):
        page = fake.list(**query)
        return [i["name"] for i in page.get("items", [])], page.get("prefixes", [])

    assert names_of() == (names, [])
    assert names_of(prefix="b/") == (["b/x/1", "b/x/2", "b/y"], [])
    assert names_of(delimiter="/") == (["a", "c", "\u00e4"], ["a/", "b/"])
    assert names_of(prefix="b/", delimiter="/") == (["b/y"], ["b/x/"])
    assert names_of(startOffset="b", endOffset="c") == (["b/x/1", "b/x/2", "b/y"], [])
    fake.insert("aa")
    assert names_of(prefix="a") == (["a", "a/1", "a/2", "aa"], [])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("delimiter", ["", "/"])
def test_list_in_pages(shared, size, delimiter):
    for name in ("l/a", "l/b/1", "l/b/2", "l/c", "l/d/1", "l/e/1", "l/e/2", "l/f"):
        shared.insert(name)
    items, prefixes, token = [], [], ""
    for _ in range(20):
        page = shared.list(prefix="l/", delimiter=delimiter, maxResults=size, pageToken=token)
        items += [i["name"] for i in page.get("items", [])]
        prefixes += page.get("prefixes", [])
        assert len(page.get("items", [])) + len(page.get("prefixes", [])) <= size
        token = page.get("nextPageToken", "")
        if not token:
            break
    if delimiter:
        assert (items, prefixes) == (["l/a", "l/c", "l/f"], ["l/b/", "l/d/", "l/e/"])
    else:
        assert (items, prefixes) == (["l/a", "l/b/1", "l/b/2", "l/c", "l/d/1", "l/e/1", "l/e/2",
                                      "l/f"], [])


def test_list_defaults_and_rubbish(shared):
    assert shared.list(prefix="nothing like it") == {"kind": "storage#objects"}
    for query in ("pageToken=zz", "pageToken=n0", "pageToken=n00", "maxResults=-1"):
        assert shared.call("GET", "/storage/v1/b/bk/o?" + query).status == 400


def test_fields(shared):
    shared.insert("f")
    assert set(shared.get("f", "fields=name,size").json) == {"name", "size"}
    page = shared.list(prefix="f", fields="items(name,crc32c),nextPageToken")
    assert set(page["items"][0]) == {"name", "crc32c"}


# ---- compose and copies ---------------------------------------------------------------------

def test_compose(fake):
    generations = [fake.insert(n, d).json["generation"] for n, d in (("1", b"abc"), ("2", b"def"))]
    reply = fake.compose("both", [{"name": "1", "generation": generations[0]},
                                  {"name": "2", "objectPreconditions": {
                                      "ifGenerationMatch": generations[1]}}],
                         "ifGenerationMatch=0",
                         destination={"contentType": "x/y", "metadata": {"k": "v"}})
    json = reply.json
    assert (json["size"], json["crc32c"], json["componentCount"]) == ("6", crc32c(b"abcdef"), 2)
    assert (json["contentType"], json["metadata"]) == ("x/y", {"k": "v"})
    assert fake.get("both", "alt=media").body == b"abcdef"
    again = fake.compose("both", ["1"], "ifGenerationMatch=0")
    assert (again.status, again.reason) == (412, "conditionNotMet")
    assert fake.compose("tree", ["both", "1", "both"]).json["componentCount"] == 5
    assert fake.get("tree", "alt=media").body == b"abcdefabcabcdef"
    assert fake.compose("one", ["1"]).json["componentCount"] == 1
    stats = fake.stats()
    assert (stats["composes"], stats["inserts"], stats["precondition_failed"]) == (3, 2, 1)


def test_compose_refuses(shared):
    shared.insert("s")
    many = shared.compose("x", ["s"] * 33)
    assert many.status == 400
    assert many.message == \
        "The number of source components provided (33) exceeds the maximum (32)"
    assert shared.compose("x", ["s"] * 32).status == 200
    assert shared.compose("x", []).status == 400
    assert shared.compose("x", ["none"]).status == 404
    assert shared.compose("x", [{"name": "s", "generation": "1"}]).status == 404
    assert shared.compose("x", [{"name": "s", "objectPreconditions": {
        "ifGenerationMatch": "1"}}]).status == 412
    assert shared.compose("x", [{}]).status == 400
    assert shared.compose("x", [{"name": "s", "generation": "rubbish"}]).status == 400
    assert shared.call("POST", "/storage/v1/b/bk/o/x/compose", "[1]").status == 400
    assert shared.compose(".", ["s"]).status == 400


def test_compose_takes_the_class_of_its_sources(shared):
    shared.multipart({"name": "cold", "storageClass": "COLDLINE"}, b"x")
    shared.insert("warm")
    assert shared.compose("mixed", ["cold", "warm"]).status == 400
    assert shared.compose("c", ["cold"]).json["storageClass"] == "COLDLINE"


def test_compose_deletes_sources():
    with Fake() as fake:
        fake.insert("1")
        fake.insert("2")
        assert fake.compose("c", ["1", "2"], deleteSourceObjects=True).status == 200
        assert [o["name"] for o in fake.objects()] == ["c"]
        assert fake.compose("c", ["c", "c"], deleteSourceObjects=True).status == 200
        assert fake.get("c", "alt=media").body == b"hello" * 4
    with Fake("--ignore-delete-sources") as fake:
        fake.insert("1")
        fake.compose("c", ["1"], deleteSourceObjects=True)
        assert [o["name"] for o in fake.objects()] == ["1", "c"]


def test_copy_and_rewrite(shared):
    generation = shared.insert("from/x", b"copy me").json["generation"]
    path = "/storage/v1/b/bk/o/%s/%s/b/other/o/%s?"
    reply = shared.call("POST", path % (quote("from/x"), "copyTo", quote("to/y")), {})
    assert (reply.json["name"], reply.json["bucket"]) == ("to/y", "other")
    assert shared.get("to/y", "alt=media", bucket="other").body == b"copy me"
    reply = shared.call("POST", path % (quote("from/x"), "rewriteTo", "z")
                        + "sourceGeneration=" + generation, {"contentType": "a/b"})
    assert reply.json["done"] is True
    assert reply.json["totalBytesRewritten"] == "7"
    assert reply.json["resource"]["contentType"] == "a/b"
    assert shared.call("POST", path % ("z", "rewriteTo", "z2"), "null\n").status == 404
    assert shared.call("POST", path % (quote("from/x"), "copyTo", "z2"), "null\n").status == 200
    refused = path % (quote("from/x"), "rewriteTo", "z") + "ifGenerationMatch=0"
    assert shared.call("POST", refused, "").status == 412
    refused = path % (quote("from/x"), "rewriteTo", "z") + "ifSourceGenerationMatch=1"
    assert shared.call("POST", refused, "").status == 412
    assert shared.call("POST", path % ("none", "copyTo", "z"), {}).status == 404


# ---- buckets --------------------------------------------------------------------------------

def test_bucket(tmp_path):
    overlay = tmp_path / "bucket.json"
    overlay.write_text('{"storageClass": "NEARLINE", "softDeletePolicy": '
                       '{"retentionDurationSeconds": "604800"}}')
    with Fake("--bucket-json", overlay) as fake:
        json = fake.call("GET", "/storage/v1/b/bk").json
        assert (json["name"], json["storageClass"]) == ("bk", "NEARLINE")
        assert json["softDeletePolicy"]["retentionDurationSeconds"] == "604800"
        assert fake.insert("a").json["storageClass"] == "NEARLINE"
    with Fake() as fake:
        json = fake.call("GET", "/storage/v1/b/bk").json
        assert (json["location"], json["storageClass"]) == ("US-CENTRAL1", "STANDARD")
        assert fake.call("POST", "/storage/v1/b", {"name": "new"}).json["name"] == "new"
        fake.insert("a", bucket="one")
        buckets = fake.call("GET", "/storage/v1/b?project=p").json["items"]
        assert [b["name"] for b in buckets] == ["one"]
        assert fake.call("GET", "/storage/v1/b/bk/storageLayout").json["bucket"] == "bk"


# ---- rights ---------------------------------------------------------------------------------

def test_rights_permissions():
    asked = ["storage.objects.create", "storage.objects.get", "storage.buckets.get",
             "storage.buckets.delete"]
    path = "/storage/v1/b/bk/iam/testPermissions?" + "&".join("permissions=" + a for a in asked)
    with Fake("--rights", "create,buckets.get") as fake:
        assert fake.call("GET", path).json["permissions"] == [asked[0], asked[2]]
        assert fake.call("GET", "/storage/v1/b/bk").status == 200
    with Fake("--rights", "") as fake:
        assert "permissions" not in fake.call("GET", path).json
        assert fake.call("GET", "/storage/v1/b/bk").status == 403
    with Fake() as fake:
        assert fake.call("GET", path).json["permissions"] == asked


def test_create_only():
    with Fake("--rights", "create") as fake:
        assert fake.insert("a").status == 200
        again = fake.insert("a", ifGenerationMatch="0")
        assert (again.status, again.reason) == (403, "forbidden")
        assert "does not have storage.objects.delete access to the Google Cloud Storage object" \
            in again.message
        for reply in (fake.get("a"), fake.get("a", "alt=media"), fake.compose("c", ["a"])):
            assert "storage.objects.get" in reply.message and reply.status == 403
        assert "storage.objects.delete" in fake.delete("a").message
        assert fake.call("GET", "/storage/v1/b/bk/o").status == 403
        stats = fake.stats()
        assert (stats["rejected"], stats["by_status"]) == (6, {"200": 1, "403": 6})


def test_compose_rights():
    with Fake("--rights", "create,get") as fake:
        fake.insert("a")
        assert fake.compose("c", ["a"]).status == 200
        assert "storage.objects.delete" in fake.compose("c", ["a"]).message
        assert "storage.objects.delete" in fake.compose(
            "d", ["a"], deleteSourceObjects=True).message
        assert fake.get("d").status == 404
    with Fake("--rights", "get,list") as fake:
        assert "storage.objects.create" in fake.insert("a").message
        assert fake.list() == {"kind": "storage#objects"}
