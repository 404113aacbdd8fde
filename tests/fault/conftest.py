# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what was made to fail, shown at the end."""
import collections
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ('images', 'integration'):
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), folder))

OUTCOMES = collections.defaultdict(collections.Counter)


def pytest_terminal_summary(terminalreporter):
    if not OUTCOMES:
        return
    terminalreporter.section('torture')
    for name, counter in OUTCOMES.items():
        terminalreporter.write_line('%-28s %3d tried: %s' % (
            name, sum(counter.values()), ', '.join(
                '%s %d' % (outcome, count) for outcome, count in sorted(counter.items()))))
