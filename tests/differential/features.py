# SPDX-License-Identifier: GPL-3.0-or-later
"""Which feature of NTFS a stream shows, and what each reader is known to make of it."""

SAME = 'same'
WOF = {'xpress4k': 'CompactOS XPRESS4K', 'xpress8k': 'CompactOS XPRESS8K',
       'xpress16k': 'CompactOS XPRESS16K', 'lzx': 'CompactOS LZX'}
FOLDERS = (
    ('sparse/empty', 'sparse, one hole'), ('sparse/', 'sparse'),
    ('fragments/list', 'thousands of extents'),
    ('fragments/', 'plain'), ('names/', 'odd names'), ('deep/', 'odd names'),
    ('.well-known/', 'odd names'), ('%u002Ewinch/', 'odd names'), ('links/', 'hard links'),
    ('wof-damaged/', 'CompactOS, damaged'))
REPARSE = {
    'dedup.bin': 'Data Deduplication', 'cloud.docx': 'cloud placeholder',
    'sis.bin': 'SIS, HSM, unknown tags', 'hsm.bin': 'SIS, HSM, unknown tags',
    'third-party.bin': 'SIS, HSM, unknown tags', 'local.docx': 'cloud tag, content here',
    'app.exe': 'AppExec, WCI', 'container.txt': 'AppExec, WCI'}


HARD_NAMES = 'names: half pair, line end'
HARD_UNITS = ('%uD8', '%uDC', '%u000A')


def of_kinds(stream, name):
    """The feature of a stream of kinds.img."""
    path, form = stream.path, stream.form
    if name:
        return {'streams': 'streams on a folder',
                'streams/many.txt': '200 streams on one file'}.get(path, 'alternate streams')
    if path.startswith('wof/'):
        algorithm, kind = path[4:].split('.')[0].split('-')
        if kind == 'byte':
            return 'CompactOS, one byte'
        if (algorithm, kind) == ('xpress4k', 'long'):
            return 'CompactOS, 1,101 chunks'
        if (algorithm, kind) == ('lzx', 'long'):
            return 'CompactOS LZX, 40 chunks'
        return WOF[algorithm]
    if path.startswith('reparse/'):
        return REPARSE.get(path[8:], 'plain')
    if path.startswith('lznt1/') and form != 'resident':
        return 'LZNT1'
    for start, feature in FOLDERS:
        if path.startswith(start):
            return feature
    return 'resident' if form == 'resident' else 'plain'


def of(name, stream, stream_name):
    """The feature that a stream of an image stands for."""
    if any(unit in stream.path for unit in HARD_UNITS):
        return HARD_NAMES
    if name == 'kinds':
        return of_kinds(stream, stream_name)
    if name == 'efs':
        return 'EFS' if stream.path == 'secret.bin' else 'plain'
    if name == 'bad-list':
        return 'attribute list, broken' if stream.path == 'broken.bin' else 'beside a broken list'
    if stream.path in ('files/hole.bin', 'sparse-file') and name != 'sector4096':
        return 'sparse' if name not in UNREADABLE else VOLUMES[name]
    return VOLUMES.get(name, name)


def is_asked(key):
    """The packed form of CompactOS data is no stream of its own to winch."""
    return key[1] != b'WofCompressedData'


VOLUMES = {
    'valid': 'valid length < size', 'table': 'fragmented $MFT',
    'damaged': 'torn record, torn index',
    'mirror': '$MFTMirr differs', 'dirty': 'dirty', 'hibernated': 'hibernated',
    'sector4096': 'sectors of 4,096', 'odd-names': 'names: / : \\ U+0000 ..',
    'over-4g': 'over 4 GiB'}
VOLUMES.update(('cluster%d' % size, 'clusters of {:,}'.format(size))
               for size in (512, 1024, 2048, 8192, 65536, 131072, 2097152))

# Volumes that one reader refuses as a whole: their holes are not counted as sparse.
UNREADABLE = ('mirror', 'cluster131072', 'cluster2097152')
ZEROS = {'ntfscat': 'wrong (zeros)', 'icat': 'wrong (zeros)', '7zz': 'wrong (zeros)'}
ALL_ZEROS = {**ZEROS, 'libfsntfs': 'wrong (zeros)'}
ALL_EMPTY = {reader: 'wrong (empty)' for reader in ALL_ZEROS}
LAST_FAILS = {'7zz': 'same / refuses'}

# What is not "same". The Sleuth Kit knows clusters up to 64 KiB and refuses holes that are longer
# than the volume. 7-Zip stops with a data error in
# sparse files that hold data, opens neither volumes with 4 KiB sectors nor such whose $MFT has an
# attribute list or a torn record, and lists some names changed, by which it finds no file.
# libfsntfs decodes CompactOS data but for one chunk, very many chunks, and one kind of LZX block.
KNOWN = {
    'sparse': {'7zz': 'refuses'},
    'thousands of extents': {'7zz': 'refuses'},
    HARD_NAMES: {'7zz': 'refuses'},
    'Data Deduplication': ALL_ZEROS,
    'cloud placeholder': ALL_ZEROS,
    'SIS, HSM, unknown tags': ALL_ZEROS,
    'AppExec, WCI': ALL_EMPTY,
    'CompactOS XPRESS4K': ZEROS,
    'CompactOS XPRESS8K': ZEROS,
    'CompactOS XPRESS16K': ZEROS,
    'CompactOS LZX': ZEROS,
    'CompactOS, one byte': {**ZEROS, 'libfsntfs': 'refuses'},
    'CompactOS, 1,101 chunks': {**ZEROS, 'libfsntfs': 'refuses'},
    'CompactOS LZX, 40 chunks': {**ZEROS, 'libfsntfs': 'refuses'},
    'CompactOS, damaged': {**ZEROS, 'libfsntfs': 'wrong / wrong (zeros) / refuses'},
    'EFS': {'ntfscat': 'refuses', 'icat': 'wrong', 'libfsntfs': 'wrong', '7zz': 'wrong'},
    'over 4 GiB': {'icat': 'refuses', '7zz': 'refuses'},
    'fragmented $MFT': {'7zz': 'refuses'},
    'torn record, torn index': {'7zz': 'refuses'},
    '$MFTMirr differs': {'ntfscat': 'refuses', **LAST_FAILS},
    'sectors of 4,096': {'7zz': 'refuses'},
    'clusters of 131,072': {'icat': 'refuses', **LAST_FAILS},
    'clusters of 2,097,152': {'icat': 'refuses', **LAST_FAILS},
    'attribute list, broken': {'ntfscat': 'refuses', 'icat': 'wrong', 'libfsntfs': 'refuses',
                               '7zz': 'refuses'},
    'ntfs-2m-p1': {'icat': 'refuses'},
}

# Entries found by walking folders, where that is not all: winch takes $MFT for the truth.
WALKS = {
    # A folder with a cloud tag; a damaged CompactOS file.
    'kinds': {'ntfscat': '147 of 148', 'libfsntfs': '147 of 148'},
    'table': {'7zz': 'cannot list'},
    'damaged': {'ntfscat': '288 of 601', 'icat': '1 of 601', '7zz': 'cannot list'},
    'mirror': {'ntfscat': 'cannot list'},
    'sector4096': {'7zz': 'cannot list'},
    'cluster131072': {'icat': 'cannot list'},
    'cluster2097152': {'icat': 'cannot list'},
    'ntfs-2m-p1': {'icat': 'cannot list'},
    # A hole longer than the volume.
    'over-4g': {'icat': '0 of 1'},
    'bad-list': {'libfsntfs': '2 of 3'},
    # A file in use that is in no index.
    'ntfs3': {'ntfscat': '3 of 4', 'libfsntfs': '3 of 4'},
    # Index blocks larger than a cluster.
    'testfs1': {'libfsntfs': '5 of 517'},
}


def known(feature, reader):
    return KNOWN.get(feature, {}).get(reader, SAME)


def known_walk(volume, reader):
    return WALKS.get(volume, {}).get(reader, 'all')
