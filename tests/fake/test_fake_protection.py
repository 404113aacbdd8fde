# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bucket does to deletions and overwriting: retention, holds, soft delete; who pays."""
import json

import pytest

from fake_server import Fake


@pytest.fixture
def start(tmp_path):
    fakes = []

    def start_with(bucket, *options):
        name = tmp_path / ("bucket-%d.json" % len(fakes))
        name.write_text(json.dumps(bucket))
        fakes.append(Fake("--bucket-json", name, *options))
        return fakes[-1]
    yield start_with
    for fake in fakes:
        fake.stop()


def refused(reply, reason):
    return reply.status == 403 and reply.reason == reason


@pytest.mark.parametrize("period", ("3600", 3600))
def test_retention(start, period):
    fake = start({"retentionPolicy": {"retentionPeriod": period}})
    assert fake.insert("a").status == 200
    assert refused(fake.insert("a", b"other"), "retentionPolicyNotMet")
    assert refused(fake.delete("a"), "retentionPolicyNotMet")
    assert refused(fake.compose("a", ["a"]), "retentionPolicyNotMet")
    assert fake.get("a", "alt=media").body == b"hello"
    # A precondition is told first.
    assert fake.insert("a", ifGenerationMatch="0").status == 412
    # Composing takes place, but takes nothing away.
    assert fake.compose("c", ["a"], deleteSourceObjects=True).status == 200
    assert fake.get("a").status == 200


def test_no_retention(start):
    for bucket in ({}, {"retentionPolicy": {"retentionPeriod": "0"}}, {"retentionPolicy": {}}):
        fake = start(bucket)
        assert fake.insert("a").status == 200
        assert fake.insert("a").status == 200
        assert fake.delete("a").status == 204


@pytest.mark.parametrize("hold", ("temporaryHold", "eventBasedHold"))
def test_holds(start, hold):
    fake = start({})
    assert fake.insert("a").status == 200
    patch = json.dumps({hold: True}).encode()
    reply = fake.call("PATCH", "/storage/v1/b/bk/o/a", patch, {"Content-Type": "application/json"})
    assert reply.status == 200 and reply.json[hold] is True
    assert refused(fake.delete("a"), "objectUnderActiveHold")
    assert refused(fake.insert("a"), "objectUnderActiveHold")
    patch = json.dumps({hold: False}).encode()
    reply = fake.call("PATCH", "/storage/v1/b/bk/o/a", patch, {"Content-Type": "application/json"})
    assert reply.status == 200 and hold not in reply.json
    assert fake.delete("a").status == 204
    patch = json.dumps({hold: "yes"}).encode()
    fake.insert("b")
    assert fake.call("PATCH", "/storage/v1/b/bk/o/b", patch,
                     {"Content-Type": "application/json"}).status == 400


def test_hold_by_default(start):
    fake = start({"defaultEventBasedHold": True})
    assert fake.insert("a").json["eventBasedHold"] is True
    assert refused(fake.delete("a"), "objectUnderActiveHold")
    assert fake.multipart({"name": "m"}, b"x").json["eventBasedHold"] is True


def test_soft_delete_is_counted(start):
    fake = start({"softDeletePolicy": {"retentionDurationSeconds": "604800"}})
    for name in ("1", "2", "3"):
        fake.insert(name, b"12345")
    fake.delete("1")
    fake.insert("2", b"123")
    stats = fake.stats()
    assert (stats["soft_deleted"], stats["soft_deleted_bytes"]) == (2, 10)
    # What a compose deletes is gone for good.
    assert fake.compose("c", ["2", "3"], deleteSourceObjects=True).status == 200
    assert fake.get("3").status == 404
    assert fake.stats()["soft_deleted"] == 2
    assert fake.stats()["objects"] == 1
    plain = start({})
    plain.insert("1")
    plain.delete("1")
    assert plain.stats()["soft_deleted"] == 0


def test_requester_pays(start):
    fake = start({"billing": {"requesterPays": True}})
    reply = fake.insert("a")
    assert reply.status == 400 and reply.reason == "userProjectMissing"
    assert fake.insert("a", userProject="me").status == 200
    assert fake.get("a").status == 400
    assert fake.get("a", headers={"x-goog-user-project": "me"}).status == 200
    assert fake.delete("a", "userProject=me").status == 204
    with_none = start({"billing": {"requesterPays": False}})
    assert with_none.insert("a").status == 200
