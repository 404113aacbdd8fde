#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read streams with libfsntfs. Usage: fsntfs_read.py VOLUME < [[RECORD, STREAM], ...]

Writes {"streams": [{"size","sha256","zeros"} or {"refused"}, ...], "reached": [RECORD, ...]} as
JSON, in the order asked for. A process of its own: it may die on what it reads.
"""
import hashlib
import json
import sys

import pyfsntfs

BLOCK = 1 << 20
RECORD_MASK = (1 << 48) - 1
DEPTH_MAX = 64


def read_all(source):
    digest = hashlib.sha256()
    left = source.get_size()
    size, zeros = left, left > 0
    if left:
        source.seek_offset(0, 0)
    while left:
        block = source.read_buffer(min(BLOCK, left))
        if not block:
            raise OSError('ends %d bytes before its size' % left)
        digest.update(block)
        zeros = zeros and block.count(0) == len(block)
        left -= len(block)
    return {'size': size, 'sha256': digest.hexdigest(), 'zeros': zeros}


def read_stream(volume, record, stream):
    entry = volume.get_file_entry(record)
    if not stream:
        return read_all(entry)
    for index in range(entry.number_of_alternate_data_streams):
        found = entry.get_alternate_data_stream(index)
        if found.name == stream:
            return read_all(found)
    return {'refused': 'has no such stream'}


def walk(folder, reached, depth=0):
    for index in range(folder.number_of_sub_file_entries):
        try:
            entry = folder.get_sub_file_entry(index)
            record = entry.file_reference & RECORD_MASK
        except OSError:
            continue
        if record in reached:
            continue
        reached.add(record)
        if depth < DEPTH_MAX and entry.has_directory_entries_index():
            walk(entry, reached, depth + 1)


def main(path):
    wanted = json.load(sys.stdin)
    volume = pyfsntfs.volume()
    volume.open(path)
    streams = []
    for record, stream in wanted:
        try:
            streams.append(read_stream(volume, record, stream))
        except (OSError, MemoryError) as error:
            streams.append({'refused': str(error)[:200]})
    reached = set()
    try:
        walk(volume.get_root_directory(), reached)
    except OSError:
        pass
    json.dump({'streams': streams, 'reached': sorted(reached)}, sys.stdout)


if __name__ == '__main__':
    main(sys.argv[1])
