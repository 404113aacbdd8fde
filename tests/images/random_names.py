# SPDX-License-Identifier: GPL-3.0-or-later
"""Names by chance: ordinary ones, and all that an NTFS name can hold and ntfs-3g lets through."""

WORDS = ('report', 'photo', 'a', 'Data', 'readme', 'IMG_2001', 'x' * 40, 'New Folder', 'index')
ENDINGS = ('', '', '.txt', '.bin', '.JPG', '.', ' ', '.tar.gz', ' .', '~1', '.lnk', '#12')
RESERVED = ('CON', 'nul', 'AUX.txt', 'com1', '.winch', '.WINCH2', '.well-known', 'acme-challenge',
            'desktop.ini', '$MFT', '$Extend', 'pagefile.sys', '...', 'index.html', 'run.json')
# One of each kind of unit that needs care: control, quoting, URL, glob, bidi, outside of the BMP.
ODD = ('\x01', '\x1f', '\x7f', '\n', '\r', '\t', '\\', '"', '*', '?', '<', '>', '|', '#', '%',
       '%2F', '%u0041', '%uD800', '&', '+', '=', ';', '[', ']', '{', '}', "'", '`', '$', '\u00e9',
       'e\u0301', '\u0434', '\u4e2d', '\u202e', '\ufeff', '\ufffe', '\uffff', '\U0001f600',
       '\U0010fffd', '\ud800', '\udc00', '\udfff\ud800', '\u212a', '\u0130', '\u00df', '\u2028')
UNITS_MAX = 255
STREAM_UNITS_MAX = 60


def units(text):
    return len(text.encode('utf-16le', 'surrogatepass')) // 2


def random_text(rnd):
    kind = rnd.random()
    if kind < 0.5:
        return rnd.choice(WORDS) + str(rnd.randrange(1000)) + rnd.choice(ENDINGS)
    if kind < 0.6:
        return rnd.choice(RESERVED)
    if kind < 0.9:
        return ''.join(rnd.choice(ODD + WORDS) for _ in range(rnd.randrange(1, 6)))
    length = rnd.choice((UNITS_MAX, UNITS_MAX - 1, 128, 200))
    return (rnd.choice(('L', '\u4e2d', '\U0001f600', 'a\u0301')) * length)[:length]


def random_name(rnd, others, stream=False):
    """Bytes as ntfs-3g takes them, lone surrogates as three; sometimes one of others in other
    letters. Not free of clashes: the caller looks."""
    if others and not stream and rnd.random() < 0.1:
        text = rnd.choice(others).decode('utf-8', 'surrogatepass').swapcase()
    else:
        text = random_text(rnd)
    while units(text) > (STREAM_UNITS_MAX if stream else UNITS_MAX):
        text = text[:-1]
    # A pair that was put together by chance is one character.
    text = text.encode('utf-16le', 'surrogatepass').decode('utf-16le', 'surrogatepass')
    text = text.replace('/', '_').replace(':', '_').replace('\0', '_')
    if text in ('', '.', '..'):
        text += 'dot'
    return text.encode('utf-8', 'surrogatepass')
