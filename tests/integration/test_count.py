# SPDX-License-Identifier: GPL-3.0-or-later
"""The count: winch's numbers against a counter that shares nothing with it, and its manifest."""
import collections

import pytest

import count
from comparing import check_counts, has_object
from local_storage import DESTINATION
from manifest import Manifest

# name: (maker, first byte, length, options)
VOLUMES = {
    'kinds': ('kinds', 0, None, ()),
    'table': ('table', 0, None, ()),
    'damaged': ('damaged', 0, None, ()),
    'valid': ('valid', 0, None, ()),
    'sector4096': ('geometry', 0, None, ()),
    'mbr': ('mbr', 63 * 512, 98304 * 512, ('--volume', '1')),
}


@pytest.mark.parametrize('name', sorted(VOLUMES))
def test_count(name, winch, storage, images):
    maker, first, length, options = VOLUMES[name]
    image = images.get(name, maker)
    result = winch.migrate(storage, image, DESTINATION, *options, expect=None)
    assert result.exit in (0, 3), str(result)
    manifest = Manifest(storage.bucket(), 'p')
    counted = count.count_volume(image, first, length)
    assert result.json['records_in_use'] == counted.in_use, counted
    assert result.json['extension'] == counted.extension, counted
    check_counts(result, manifest)
    records = {line['record'] for line in manifest.lines}
    assert len(records) == counted.in_use - counted.extension
    system = [line for line in manifest.lines if int(line['record']) < count.RESERVED
              and line['state'] != 'name' and 'stream' not in line and int(line['record']) != 5]
    assert {(line['state'], line['reason']) for line in system} <= {('excluded', 'system')}


def test_streams_and_bytes(winch, storage, images):
    """Streams and bytes of the report are those of the bucket and the lines."""
    image = images.get('kinds')
    result = winch.migrate(storage, image, DESTINATION, '--no-default-excludes', expect=3)
    manifest = Manifest(storage.bucket(), 'p')
    objects = storage.bucket().list('p/')
    uploaded = [line for line in manifest.lines if has_object(line)]
    inline = sum(len(manifest.inline_streams(line)) for line in manifest.lines)
    assert result.json['streams_uploaded'] == len(uploaded) + inline, (len(uploaded), inline)
    sent = sum(int(objects[line['name']]['size']) for line in uploaded)
    inline_bytes = sum(len(data) for line in manifest.lines
                       for data in manifest.inline_streams(line).values())
    assert result.json['bytes'] == sent + inline_bytes, (result.json, sent, inline_bytes)
    reasons = collections.Counter(line['reason'] for line in manifest.lines
                                  if line['state'] == 'failed' and 'stream' not in line)
    assert reasons == result.json['reasons'], (reasons, result.json)
