# SPDX-License-Identifier: Apache-2.0
"""What the tests of virtual time share: programs are recorded on a machine of the software GPU, and their records read back."""

import json
import os
import pathlib
import subprocess

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))


def run(words, env, status=(0,)):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **env}, timeout=120)
    assert done.returncode in status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def record(name, words, machine):
    """What the program prints."""
    return run([PROGRAMS / words[0], *words[1:]],
               {'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_EMU_TIME': 'virtual', 'TS_GPU_TIME': '1', 'TS_EMU_MACHINE': machine,
                'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}).stdout


def tool(*words):
    return run([BIN / 'tracesmith', *words], {})


def read(name):
    return [json.loads(line) for line in tool('view', '--json', name).stdout.splitlines()][1:]
