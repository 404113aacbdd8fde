# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/ntfs-support.md is true: its tests exist, its words about other readers are those that the
comparison knows, and no report of the collection is left out."""
import os
import re

import pytest

import features
from conftest import TOP

PAGE = os.path.join(TOP, 'docs', 'ntfs-support.md')
TEST = re.compile(r'`([a-z]+/[a-z0-9_]+\.(?:py|c))::(test_[a-z0-9_]+)`')
REPORT = re.compile(r'([A-Za-z0-9_.-]*/)?([A-Za-z0-9_.-]+)#(\d+)')
WORDS = {'same': 'same', 'wrong (zeros)': 'zeros', 'wrong (empty)': 'empty', 'wrong': 'wrong',
         'refuses': 'refuses', 'same / refuses': 'same'}
COLUMNS = ('ntfscat', 'icat', '7zz')
# Titles of rows whose features have another name, or several that agree.
NAMED = {
    'valid data length < size': ('valid length < size',), 'over 4 GiB': ('over 4 GiB',),
    'LZNT1 (NTFS compression)': ('LZNT1',), 'alternate streams of directories': (
        'streams on a folder',), 'cloud placeholder (OneDrive, …)': ('cloud placeholder',),
    'hard links': ('hard links',), 'half of a surrogate pair, line end': (features.HARD_NAMES,),
    'embedded U+0000': ('names: / : \\ U+0000 ..',),
    'clusters of 512 bytes to 64 KiB': tuple('clusters of {:,}'.format(size) for size in (
        512, 1024, 2048, 8192, 65536)),
    'clusters of 128 KiB to 2 MiB': ('clusters of 131,072', 'clusters of 2,097,152'),
    'sectors of 4,096 bytes': ('sectors of 4,096',), '`$MFTMirr` differs': ('$MFTMirr differs',),
    'fragmented `$MFT`': ('fragmented $MFT',)}


def page_rows():
    """The cells of each row of each table, without comments."""
    with open(PAGE, encoding='utf-8') as stream:
        text = re.sub(r'<!--.*?-->', '', stream.read())
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in text.split('\n') if line.startswith('|')]
    heads = ('what', 'report', '---')
    return [row for row in rows if row[0] not in heads]


def test_every_test_exists():
    rows = page_rows()
    assert len(rows) > 80
    for row in rows:
        found = TEST.findall(row[-1])
        assert found and TEST.sub('', row[-1]).strip(' ,') == '', row
        for name, test in found:
            with open(os.path.join(TOP, 'tests', name), encoding='utf-8') as stream:
                text = stream.read()
            pattern = (r'cmocka_unit_test\(%s\)' if name.endswith('.c') else r'^def %s\(') % test
            assert re.search(pattern, text, re.M), 'no test %s::%s' % (name, test)


def test_words_about_readers():
    """Each cell begins with the word for what the comparison knows."""
    checked = set()
    for row in page_rows():
        for feature in NAMED.get(row[0], (row[0],)):
            if len(row) != 6 or not (feature in features.KNOWN or row[0] in NAMED):
                continue
            checked.add(feature)
            for reader, cell in zip(COLUMNS, row[2:5]):
                word = WORDS[features.known(feature, reader)]
                assert cell.split(' ')[0] == word, (row[0], reader, cell, word)
    missing = set(features.KNOWN) - checked - {
        'ntfs-2m-p1', 'CompactOS, one byte', 'CompactOS, 1,101 chunks', 'CompactOS LZX, 40 chunks'}
    assert not missing, missing


def test_every_report_is_there():
    """The collection is not part of the checkout; where it is, nothing of it is forgotten."""
    shared = os.environ.get('WINCH_SHARED') or os.path.join(os.path.dirname(TOP), 'shared')
    name = os.path.join(shared, 'knowledge', 'ntfs.md')
    if not os.path.exists(name):
        pytest.skip('no collection of reports at %s' % name)
    with open(name, encoding='utf-8') as stream:
        section = stream.read().split('\n## 3. ')[1].split('\n## ')[0]
    with open(PAGE, encoding='utf-8') as stream:
        here = {(repository, number) for _, repository, number in REPORT.findall(stream.read())}
    wanted = set()
    for line in re.findall(r'^\| \d+ \|.*$', section, re.M):
        repository = None
        for owner, found, number in REPORT.findall(
                re.sub(r'(?<=[ /,])#', '_#', line.split('|')[2])):
            repository = repository if found == '_' else found
            wanted.add((repository, number))
    assert len(wanted) > 40, wanted
    assert not wanted - here, wanted - here
