# SPDX-License-Identifier: GPL-3.0-or-later
"""Other clients of Cloud Storage against the local one, and on what winch wrote there."""
import pytest

from clients import ABSENT
from operations import OPERATIONS
from table import TABLE


def test_client(client_name, operation, request):
    if ABSENT[client_name]:
        pytest.skip(ABSENT[client_name])
    worlds = request.getfixturevalue('worlds')
    try:
        refused = OPERATIONS[operation](worlds(client_name))
    except pytest.skip.Exception as skipped:
        TABLE.add(client_name, operation, 'skipped', str(skipped))
        raise
    except BaseException as failure:
        TABLE.add(client_name, operation, 'FAILED', str(failure).split('\n', maxsplit=1)[0])
        raise
    TABLE.add(client_name, operation, 'refused' if refused else 'ok', refused or '')
