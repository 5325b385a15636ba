#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A replay on the software GPU has memory, and variables of modules and libraries, where they were, to the byte: what a program makes of addresses comes
out as it was, and other bytes are other bytes. Where an address is taken the answer is still "cannot tell"."""

import json
import os
import pathlib
import subprocess
import tempfile

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))


def record(name, *words):
    environment = {**os.environ, 'LD_LIBRARY_PATH': str(EMU), 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    return subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def replay(name, *options, **settings):
    done = subprocess.run([BIN / 'tracesmith', 'replay', '--device=emu', '--json', '--timeout=20', *options, name],
                          env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done
    return json.loads(done.stdout)


def check_same(name, *options):
    result = replay(name, *options)
    assert result['verdict'] == 'same' and not result['translated_count'] and not result['untranslated_count'], (name, options, result)


def main():
    assert record('v.sbt', 'variables') == 'module: 8 there whole\nanother: 8 there whole\nlibrary: 8 there whole\n'
    for options in [], ['--loop=2'], ['--order=permuted:3']:
        check_same('v.sbt', *options)
    # Nothing explains other bytes.
    result = replay('v.sbt', TS_EMU_NOOP='1')
    assert result['verdict'] == 'different', result
    for words in ['pointers'], ['releases'], ['rounds'], ['ends'], ['graphs'], ['pools'], ['managed'], ['managed_variables'], ['streams']:
        record('p.sbt', *words)
        check_same('p.sbt')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
