# SPDX-License-Identifier: GPL-3.0-or-later
"""What the session has found, printed at its end: feature by reader."""
import collections

from readers import READERS

TREES = []              # lines about random trees
NOT_RUN = 'not run'
ORDER = ('same', 'wrong', 'wrong (zeros)', 'wrong (empty)', 'refuses')


class Table:
    """Cells count streams by outcome; several outcomes in one cell are all shown."""

    def __init__(self):
        self.cells = collections.defaultdict(collections.Counter)
        self.streams = collections.Counter()    # by feature
        self.walks = {}                         # volume: {reader: text}

    def empty(self):
        return not self.cells

    def add(self, feature, reader, outcomes):
        self.cells[feature, reader].update(outcomes)

    def outcome(self, feature, reader):
        return joined(self.cells.get((feature, reader))) or NOT_RUN

    def lines(self):
        for reader in READERS:
            yield '%-10s %s' % (reader.name, reader.absent() or reader.version())
        yield ''
        yield from self.rows(('feature', 'streams'), (
            ((feature, count), [self.outcome(feature, reader.name) for reader in READERS])
            for feature, count in self.streams.items()))
        yield ''
        yield from self.rows(('found by walking folders', 'entries'), (
            (head, [cells.get(reader.name, NOT_RUN) for reader in READERS])
            for head, cells in self.walks.items()))

    @staticmethod
    def rows(head, rows):
        line = '%-26s %7s  ' + '%-23s ' * len(READERS)
        yield (line % (*head, *[reader.name for reader in READERS])).rstrip()
        for first, cells in rows:
            yield (line % (*first, *cells)).rstrip()


def joined(outcomes):
    """All outcomes of some streams in one cell."""
    return ' / '.join(sorted(outcomes or (), key=ORDER.index))


TABLE = Table()
