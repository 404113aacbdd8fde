# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks of real Windows that winch cannot read are named for what they are, with a way out."""
import os
import subprocess

import pytest

from local_storage import DESTINATION

TRIED_MAX = 4


def unpack_all(archive, folder):
    subprocess.run(['tar', 'xSf', archive, '-C', str(folder)], check=True)
    found = []
    for root, _, names in os.walk(str(folder)):
        found += [os.path.join(root, name) for name in names
                  if name.endswith(('.img', '.raw', '.vhd', '.vmdk'))]
    return sorted(found)


@pytest.mark.parametrize('folder,archive,words', (
    ('cryptsetup', 'bitlk-images.tar.xz', ('BitLocker',)),
    ('libldm', 'ldm-data.tar.xz', ('dynamic', 'LDM')),
), ids=('BitLocker', 'dynamic disks'))
def test_named_for_what_it_is(folder, archive, words, shared_images, winch, storage, tmp_path):
    images = unpack_all(os.path.join(shared_images, folder, archive), tmp_path)
    assert images, 'nothing in ' + archive
    step = max(1, len(images) // TRIED_MAX)
    for image in images[::step]:
        result = winch.migrate(storage, image, DESTINATION, expect=6)
        assert any(word.lower() in result.err.lower() for word in words), (image, result.err)
    assert storage.bucket().list() == {}
