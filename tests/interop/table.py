# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of results that the session prints at its end: who could do what."""

EMULATORS = ('gcp-storage-emulator', 'fake-gcs-server')


class Table:
    """Rows are operations, columns are clients; what is not "ok" is explained below."""

    def __init__(self):
        self.versions = {}
        self.cells = {}         # (client, operation): (result, why)

    def version(self, client, version):
        self.versions[client] = version

    def add(self, client, operation, result, why=''):
        self.cells[client, operation] = (result, ' '.join(why.split()))

    def lines(self, clients, operations):
        here = [client for client in clients if any(key[0] == client for key in self.cells)]
        for client in clients:
            yield '%-22s %s' % (client, self.versions.get(client, '-'))
        yield ''
        yield ' '.join(['%-10s' % ''] + ['%-8s' % client[:8] for client in here]).rstrip()
        for operation in operations:
            cells = [self.cells.get((client, operation), ('-', ''))[0] for client in here]
            if any(cell != '-' for cell in cells):
                yield ' '.join(['%-10s' % operation] + ['%-8s' % cell for cell in cells]).rstrip()
        yield ''
        for (client, operation), (result, why) in sorted(self.cells.items()):
            if result != 'ok':
                yield ('%s %s %s: %s' % (result, client, operation, why))[:400]


TABLE = Table()         # clients against our server
EMULATED = Table()      # winch against other people's servers
