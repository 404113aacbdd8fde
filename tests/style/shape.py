# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of files: lengths, columns, names, words and calls that are not wanted."""
import ast
import re

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

SPDX = 'SPDX-License-Identifier: GPL-3.0-or-later'
# Spelled in two pieces, so that this file passes its own check.
OPEN_ENDS = ('TO' 'DO', 'FIX' 'ME', 'XX' 'X:')
GRAB_BAGS = re.compile(r'(^|[_\-/.])(utils?|misc|helpers?|managers?)([_\-/.]|$)')
BANNED_CALLS = re.compile(
    r'(?<![\w.>])(strcpy|strcat|strncpy|strncat|stpcpy|sprintf|vsprintf|gets|strtok|system|popen|'
    r'atoi|atol|atoll|atof|alloca|tmpnam|tempnam|mktemp|usleep)\s*\(')
EXIT_CALLS = re.compile(r'(?<![\w.>])(exit|_exit|quick_exit)\s*\(')


def checked(sources):
    return [source for source in sources if source.is_checked()]


def check_file_length(sources):
    return [(s.name, len(s.lines), '%d lines, at most %d' % (len(s.lines), FILE_LINES_MAX))
            for s in checked(sources) if len(s.lines) > FILE_LINES_MAX]


def c_functions(source):
    """(first line, line count) of each function body: a brace that closes at the first column."""
    start = None
    lines = source.code_lines()
    for number, line in enumerate(lines, 1):
        if start is None:
            opens = line.rstrip() == '{' or re.match(r'^[A-Za-z_].*\)\s*\{\s*$', line)
            if opens and not re.match(r'^(struct|union|enum)\s+\w+\s*\{', line):
                start = number
        elif line.startswith('}'):
            yield start, number - start + 1
            start = None


def python_functions(source):
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def check_function_length(sources):
    findings = []
    for source in sources:
        if source.is_c():
            functions = c_functions(source)
        elif source.is_python():
            functions = python_functions(source)
        else:
            continue
        for first, count in functions:
            if count > FUNCTION_LINES_MAX:
                findings.append((source.name, first, 'a function of %d lines, at most %d'
                                 % (count, FUNCTION_LINES_MAX)))
    return findings


def check_spdx(sources):
    """First line; in scripts the line after the interpreter's."""
    findings = []
    for source in checked(sources):
        if source.name.endswith('meson.build') or not source.text:
            continue
        first = source.lines[1:2] if source.text.startswith('#!') else source.lines[:1]
        if not first or SPDX not in first[0]:
            findings.append((source.name, 1, 'no "%s" at the top' % SPDX))
    return findings


def check_white_space(sources):
    findings = []
    for source in checked(sources):
        for number, line in enumerate(source.lines, 1):
            if '\t' in line:
                findings.append((source.name, number, 'a tab'))
            if line != line.rstrip():
                findings.append((source.name, number, 'white space at the end'))
        if source.text and not source.text.endswith('\n'):
            findings.append((source.name, len(source.lines), 'no line end at the end'))
    return findings


def check_columns(sources):
    return [(s.name, number, '%d columns, at most %d' % (len(line), COLUMNS_MAX))
            for s in checked(sources) for number, line in enumerate(s.lines, 1)
            if len(line) > COLUMNS_MAX]


def check_names(sources):
    return [(s.name, 1, 'a grab-bag name') for s in sources if GRAB_BAGS.search(s.name.lower())]


def check_open_ends(sources):
    return [(s.name, number, word) for s in checked(sources)
            for number, line in enumerate(s.lines, 1)
            for word in OPEN_ENDS if re.search(r'\b' + word, line)]


def check_banned_calls(sources):
    findings = []
    for source in sources:
        if not source.is_c():
            continue
        for number, line in enumerate(source.code_lines(), 1):
            match = BANNED_CALLS.search(line)
            if match:
                findings.append((source.name, number, '%s() is banned' % match.group(1)))
    return findings


def check_exit(sources):
    """Libraries return; only the program's own folder may end the process."""
    findings = []
    for source in sources:
        if not source.is_c() or source.folder() in (None, 'cli'):
            continue
        for number, line in enumerate(source.code_lines(), 1):
            match = EXIT_CALLS.search(line)
            if match:
                findings.append((source.name, number, 'a library calls %s()' % match.group(1)))
    return findings


PROTOTYPE = re.compile(r'^[A-Za-z_][\w\s\*]*?\**(\w+)\s*\([^;{]*\)[\w\s(),]*;', re.S)


def header_blocks(source):
    """Runs of lines without an empty one, outside of braces: (first line, text, code)."""
    block, depth = [], 0
    for number, (line, code) in enumerate(zip(source.lines + [''], source.code_lines() + ['']), 1):
        depth += code.count('{') - code.count('}')
        if line.strip() or depth > 0:
            block.append((number, line, code))
        elif block:
            yield (block[0][0], '\n'.join(b[1] for b in block), '\n'.join(b[2] for b in block))
            block = []


def public_headers(sources):
    for source in sources:
        parts = source.name.split('/')
        if source.folder() and len(parts) == 3 and parts[2] == parts[1] + '.h':
            yield source


def check_header_comments(sources):
    """A block of a public header that declares functions has a comment."""
    findings = []
    for source in public_headers(sources):
        for first, text, code in header_blocks(source):
            declares = any(PROTOTYPE.match(code[match.start():])
                           for match in re.finditer(r'^[A-Za-z_]', code, re.M))
            if declares and '/*' not in text:
                findings.append((source.name, first, 'functions without a comment'))
    return findings


def check_symbol_prefix(sources):
    """Functions of a public header begin with the folder's name; base is many small nouns."""
    findings = []
    for source in public_headers(sources):
        folder = source.folder()
        if folder == 'base':
            continue
        code = '\n'.join(source.code_lines())
        for match in re.finditer(r'^(?!typedef|static)[A-Za-z_][^;{}#]*?(\w+)\s*\(', code, re.M):
            if not match.group(1).startswith(folder) and match.group(1).islower():
                findings.append((source.name, code[:match.start()].count('\n') + 1,
                                 '%s lacks the prefix %s_' % (match.group(1), folder)))
    return findings
