#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run all style checks over the checkout. Usage: check.py [TOP]

Prints a line per check and a closing count; exits 1 if one failed.
"""
import os
import shutil
import subprocess
import sys

import layers
import shape
import tree

CHECKS = (
    ('layers: only listed edges between folders', layers.check_edges),
    ('layers: outside libraries stay in their folder', layers.check_outside),
    ('layers: each folder has its public header', layers.check_public_header),
    ('shape: files of at most 500 lines', shape.check_file_length),
    ('shape: functions of at most 70 lines', shape.check_function_length),
    ('shape: SPDX line at the top', shape.check_spdx),
    ('shape: no tabs, no trailing white space', shape.check_white_space),
    ('shape: at most 100 columns', shape.check_columns),
    ('shape: no grab-bag names', shape.check_names),
    ('shape: no open ends', shape.check_open_ends),
    ('shape: no banned calls', shape.check_banned_calls),
    ('shape: libraries never exit', shape.check_exit),
    ('headers: functions carry comments', shape.check_header_comments),
    ('headers: functions carry the prefix', shape.check_symbol_prefix),
)

SHOWN_MAX = 40


def bad_samples():
    """For each check a tree that must not pass: a check that finds nothing proves nothing."""
    def c(name, text):
        return tree.Source(name, text)
    long_body = 'int f(void)\n{\n' + '    g();\n' * 80 + '}\n'
    return {
        layers.check_edges: [c('imager/disk/a.c', '#include "run/run.h"\n')],
        layers.check_outside: [c('imager/run/a.c', '#include <ntfs-3g/volume.h>\n')],
        layers.check_public_header: [c('imager/disk/a.c', '')],
        shape.check_file_length: [c('a.c', '\n' * 501)],
        shape.check_function_length: [c('a.c', long_body)],
        shape.check_spdx: [c('a.sh', '#!/bin/sh\ntrue\n')],
        shape.check_white_space: [c('a.c', '\tx;\n')],
        shape.check_columns: [c('a.c', 'x' * 101 + '\n')],
        shape.check_names: [c('imager/run/disk_' + 'util.c', '')],
        shape.check_open_ends: [c('a.c', '/* TO' + 'DO: later */\n')],
        shape.check_banned_calls: [c('a.c', 'int x = ato' + 'i(s);\n')],
        shape.check_exit: [c('common/base/a.c', 'void f(void)\n{\n    exit(1);\n}\n')],
        shape.check_header_comments: [c('common/http/http.h', 'int http_send(int a);\n')],
        shape.check_symbol_prefix: [c('common/http/http.h', 'int send_it(int a);\n')],
    }


def run_shellcheck(top, sources):
    """(state, findings): "skip" when shellcheck is not here."""
    if shutil.which('shellcheck') is None:
        return 'skip', []
    names = [source.name for source in sources if source.is_shell()]
    if not names:
        return 'pass', []
    done = subprocess.run(['shellcheck', '--format=gcc', *names], cwd=top, check=False,
                          stdout=subprocess.PIPE, text=True)
    findings = []
    for line in done.stdout.splitlines():
        name, number, _, text = line.split(':', 3)
        findings.append((name, int(number), text.strip()))
    return ('fail' if findings else 'pass'), findings


def report(state, title, findings):
    print('%-4s style: %s' % (state, title))
    for name, number, text in findings[:SHOWN_MAX]:
        print('     %s:%d: %s' % (name, number, text))
    if len(findings) > SHOWN_MAX:
        print('     and %d more' % (len(findings) - SHOWN_MAX))


def main():
    here = os.path.dirname(os.path.realpath(__file__))
    top = os.path.realpath(sys.argv[1]) if len(sys.argv) > 1 else os.path.dirname(
        os.path.dirname(here))
    sources = tree.read_tree(top)
    samples = bad_samples()
    counts = {'pass': 0, 'fail': 0, 'skip': 0}
    for title, check in CHECKS:
        findings = check(sources)
        if not check(samples[check]):
            findings = [(os.path.basename(__file__), 1, 'the check misses its bad sample')]
        state = 'fail' if findings else 'pass'
        counts[state] += 1
        report(state, title, findings)
    state, findings = run_shellcheck(top, sources)
    counts[state] += 1
    report(state, 'shellcheck', findings)
    print('%(pass)d passed, %(fail)d failed, %(skip)d skipped' % counts)
    return 1 if counts['fail'] else 0


if __name__ == '__main__':
    sys.exit(main())
