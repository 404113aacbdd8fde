# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths as winch must write them: an own reading of the rules, to compare with."""
import hashlib
import re

NAME_MAX = 1024


def units(name):
    """UTF-16 units of a name given as bytes, where lone surrogates are three bytes each."""
    data = name.decode('utf-8', 'surrogatepass').encode('utf-16le', 'surrogatepass')
    return [int.from_bytes(data[i:i + 2], 'little') for i in range(0, len(data), 2)]


def escaped(unit):
    return '%%u%04X' % unit


def must_escape(all_units, index):
    unit = all_units[index]
    if unit < 0x20 or unit in (0x7F, 0xFFFE, 0xFFFF, ord('/'), ord(':')):
        return True
    if 0xD800 <= unit < 0xDC00:
        following = all_units[index + 1] if index + 1 < len(all_units) else 0
        return not 0xDC00 <= following < 0xE000
    if 0xDC00 <= unit < 0xE000:
        before = all_units[index - 1] if index else 0
        return not 0xD800 <= before < 0xDC00
    if unit == ord('%'):
        rest = ''.join(chr(u) if u < 0x80 else '?' for u in all_units[index + 1:index + 6])
        return re.fullmatch(r'u[0-9A-Fa-f]{4}', rest) is not None
    return False


def component(name, escape_first=False, last=False):
    """One name of a path, escaped. Other tools take "#DIGITS" at the end for a generation."""
    all_units = units(name)
    out = []
    text = name.decode('utf-8', 'surrogatepass')
    generation = re.search(r'#[0-9]+\Z', text) if last else None
    mark = len(all_units) - len(generation.group()) if generation else -1
    whole = len(all_units) <= 2 and set(all_units) == {ord('.')}
    for index, unit in enumerate(all_units):
        if index == mark or (index == 0 and (escape_first or whole)) or \
                must_escape(all_units, index):
            out.extend(map(ord, escaped(unit)))
        else:
            out.append(unit)
    return b''.join(unit.to_bytes(2, 'little') for unit in out).decode('utf-16le')


def path(name, folder=False):
    """A whole path (bytes with '/') as it stands in the manifest; of a folder, or of a file."""
    parts = name.split(b'/')
    first = parts[0].lower().startswith(b'.winch')
    if len(parts) > 1 and parts[0] == b'.well-known' and parts[1] == b'acme-challenge':
        first = True
    return '/'.join(component(part, first and index == 0, not folder and index == len(parts) - 1)
                    for index, part in enumerate(parts))


def object_name(full_path, prefix=''):
    """The name of a file's object: cut when it is too long."""
    name = (prefix + '/' if prefix else '') + full_path
    if len(name.encode()) <= NAME_MAX:
        return name
    tail = '~' + hashlib.sha256(full_path.encode()).hexdigest()[:16]
    head = name.encode()[:NAME_MAX - len(tail)].decode('utf-8', 'ignore')
    return head + tail
