# SPDX-License-Identifier: GPL-3.0-or-later
"""Security descriptors: the binary as it stands on the volume, and the text that means the same."""
import base64

import pytest

from local_storage import BUCKET, DESTINATION
from manifest import Manifest
from test_images import unpack, volume_table

WINDOWS = ('ntfs-2m-p1', 'ntfs-si-vs-fn-p1', 'vss_2003-p1', 'testfs1')


def samba():
    try:
        from samba import ndr
        from samba.dcerpc import security
    except ImportError:
        pytest.skip('python3-samba is not installed')
    return ndr, security


def facts(descriptor):
    """What a descriptor says, in a form to compare; what is set by default is no part of it."""
    def entries(acl):
        if acl is None:
            return None
        return [(int(ace.type), int(ace.flags), int(ace.access_mask), str(ace.trustee))
                for ace in acl.aces]
    control = descriptor.type & (0x4 | 0x10 | 0x1000 | 0x2000 | 0x400 | 0x800 | 0x100 | 0x200)
    return (control, str(descriptor.owner_sid), str(descriptor.group_sid),
            entries(descriptor.dacl), entries(descriptor.sacl))


def check(lines):
    ndr, security = samba()
    domain = security.dom_sid('S-1-5-21-1-2-3')
    said = 0
    for line in lines:
        binary = ndr.ndr_unpack(security.descriptor, base64.b64decode(line['base64']))
        if 'sddl' not in line:
            continue
        # Samba 4.17 takes FA for 0x1ff; FILE_ALL_ACCESS has the standard rights, too.
        words = line['sddl'].replace(';FA;', ';0x1f01ff;')
        text = security.descriptor.from_sddl(words, domain)
        assert facts(text) == facts(binary), (line['sddl'], binary.as_sddl(domain))
        said += 1
    return said


def test_text_means_the_binary(winch, storage, images):
    """Samba reads the text and gets what stands in the binary, entry by entry."""
    winch.migrate(storage, images.get('demo'), DESTINATION)
    security = Manifest(storage.bucket(), 'p').security
    assert security and all('sddl' in line for line in security), security
    assert check(security) == len(security)


def test_of_windows(winch, storage, shared_images, tmp_path):
    """The same for descriptors that Windows made."""
    said = total = 0
    table = volume_table(shared_images)
    for name in WINDOWS:
        image = unpack(shared_images, table[name]['image'], str(tmp_path))
        prefix = 'p-' + name
        winch.migrate(storage, image, 'gs://%s/%s' % (BUCKET, prefix), expect=None)
        lines = Manifest(storage.bucket(), prefix).security
        said += check(lines)
        total += len(lines)
    assert total > 10 and said == total, (said, total)
