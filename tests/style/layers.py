# SPDX-License-Identifier: GPL-3.0-or-later
"""Which folder may include which: arrows go one way, and only through public headers."""
import re

# folder: the folders whose public header it may include (design.md, section 3).
EDGES = {
    'base': (),
    'http': ('base',),
    'auth': ('base', 'http'),
    'compute': ('base', 'http'),
    'gcs': ('base', 'http'),
    'upload': ('base', 'gcs'),
    'disk': ('base',),
    'volume': ('base', 'disk'),
    'catalog': ('base', 'volume'),
    'plan': ('base', 'catalog', 'volume'),
    'run': ('base', 'http', 'auth', 'gcs', 'upload', 'disk', 'volume', 'catalog', 'plan'),
    'cli': ('base', 'http', 'auth', 'gcs', 'upload', 'disk', 'volume', 'catalog', 'plan', 'run'),
}

# Outside libraries that only one folder may know.
ONLY_IN = {
    r'ntfs-3g/': ('volume',),
    r'curl/': ('http',),
    r'sqlite3\.h': ('run',),
    r'blkid/': ('disk',),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def includes(source):
    """(line number, quote, name) of every include; read from the text, since names are strings."""
    for number, line in enumerate(source.lines, 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_edges(sources):
    """Only the listed edges, and across folders only "x/x.h"."""
    findings = []
    for source in sources:
        folder = source.folder()
        if folder is None or not source.is_c():
            continue
        if folder not in EDGES:
            findings.append((source.name, 1, 'folder %s is not in the table of layers' % folder))
            continue
        for number, quote, name in includes(source):
            if quote == '<' or '/' not in name:
                continue
            target = name.split('/')[0]
            if target == folder:
                continue
            if target not in EDGES[folder]:
                findings.append((source.name, number, '%s may not include %s' % (folder, name)))
            elif name != '%s/%s.h' % (target, target):
                findings.append((source.name, number, '%s is a private header of %s'
                                 % (name, target)))
    return findings


def check_outside(sources):
    """ntfs-3g headers only in volume, libcurl only in http, and so on; tests may use anything."""
    findings = []
    for source in sources:
        folder = source.folder()
        if folder is None or not source.is_c():
            continue
        for number, _, name in includes(source):
            for pattern, allowed in ONLY_IN.items():
                if re.match(pattern, name) and folder not in allowed:
                    findings.append((source.name, number, '<%s> belongs to %s alone'
                                     % (name, ', '.join(allowed))))
    return findings


def check_public_header(sources):
    """A folder with sources has its public header <folder>/<folder>.h; cli needs none."""
    names = {source.name for source in sources}
    findings = []
    for name in sorted({s.name.rsplit('/', 1)[0] for s in sources if s.folder() and s.is_c()}):
        folder = name.split('/')[1]
        if folder != 'cli' and '%s/%s.h' % (name, folder) not in names:
            findings.append((name, 1, 'no public header %s.h' % folder))
    return findings
