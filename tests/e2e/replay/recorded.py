# SPDX-License-Identifier: Apache-2.0
"""What tests of replays share that record a program of tests/programs on the software GPU."""

import os
import pathlib
import subprocess

BIN, CAPTURE, PROGRAMS, EMU = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'PROGRAMS', 'EMU'))


def run(words, **settings):
    return subprocess.run([str(word) for word in words], env={**os.environ, **settings}, capture_output=True, text=True, timeout=120,
                          check=False)


def record(name, *words, statuses=(0,), **settings):
    """The name of the trace."""
    done = run([PROGRAMS / words[0], *words[1:]], LD_LIBRARY_PATH=str(EMU), LD_PRELOAD=str(CAPTURE), TS_OUTPUT=name,
               TS_TEST_PTX=str(PROGRAMS / 'kernels.ptx'), **settings)
    assert done.returncode in statuses, (words, done)
    return name
