#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read everything back from a local Cloud Storage and compare with what was put on the disk.

Usage: read_back.py PORT BUCKET PREFIX EXPECTATION.tsv
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'images'))

import expectation                          # noqa: E402
from comparing import Comparison            # noqa: E402
from local_storage import Server            # noqa: E402
from manifest import Manifest               # noqa: E402


def main(port, bucket_name, prefix, table):
    bucket = Server(int(port)).bucket(bucket_name)
    manifest = Manifest(bucket, prefix)
    rows = expectation.read(table)
    comparison = Comparison(bucket, manifest, prefix).compare(rows)
    for problem in comparison.problems[:20]:
        print('DIFFERENT ' + problem)
    others = len(rows) - comparison.uploaded - comparison.inline
    print('%d streams and folders were put on the disk: %d are objects with the same bytes, '
          '%d stand in the manifest with the same bytes, %d are folders and links; %d differ.'
          % (len(rows), comparison.uploaded, comparison.inline, others, len(comparison.problems)))
    print('The run is %s; its manifest has %d lines.' % (manifest.run, len(manifest.lines)))
    return 1 if comparison.problems else 0


if __name__ == '__main__':
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
