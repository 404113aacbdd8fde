# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the checkout as the style checks see them."""
import os
import re

SKIPPED_FOLDERS = ('.git', 'subprojects', '__pycache__', '.pytest_cache')
SHELL = ('.sh', '.ci/run')


class Source:
    """One text file. `name` is relative to the top of the checkout."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.lines = text.splitlines()
        self._code = None

    def is_c(self):
        return self.name.endswith(('.c', '.h'))

    def is_python(self):
        return self.name.endswith('.py')

    def is_shell(self):
        return self.name.endswith(SHELL)

    def is_checked(self):
        return (self.is_c() or self.is_python() or self.is_shell()
                or os.path.basename(self.name) == 'meson.build')

    def code_lines(self):
        """Lines of C with comments, strings and character constants blanked out."""
        if self._code is None:
            self._code = blank_c(self.text).splitlines()
        return self._code

    def folder(self):
        """The library this file belongs to ("base", "volume"), or None outside of libraries."""
        parts = self.name.split('/')
        if len(parts) >= 3 and parts[0] in ('common', 'uploader', 'imager'):
            return parts[1]
        return None


C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank_c(text):
    """Replace what is no code by spaces, so that lines and columns stay where they are."""
    def blank(match):
        token = match.group(0)
        if token[0] in '"\'':
            return token[0] + ' ' * (len(token) - 2) + token[-1]
        return re.sub(r'[^\n]', ' ', token)
    return C_TOKEN.sub(blank, text)


def read_tree(top):
    """All text files that the checks look at, sorted by name."""
    sources = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS
                            and not (f.startswith('build') and folder == top))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            relative = os.path.relpath(path, top)
            source = Source(relative, '')
            if source.is_checked() or relative.endswith(('.md', '.options')):
                with open(path, encoding='utf-8', errors='replace') as stream:
                    sources.append(Source(relative, stream.read()))
    return sources
