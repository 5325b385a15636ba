# SPDX-License-Identifier: Apache-2.0
"""Runs programs with and without libts_capture.so, and reads the traces.

Meson gives the places in the environment, TS_TEST_X: CAPTURE, AUDIT, VIEW, EMU (folder of the
software GPU), BUILD (folder of this folder's programs), PTX.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

EMU = os.environ['TS_TEST_EMU']
BUILD = pathlib.Path(os.environ['TS_TEST_BUILD'])
CAPTURE = os.environ['TS_TEST_CAPTURE']
failures = []


def environment(drivers=None, **more):
    result = {**os.environ, 'LD_LIBRARY_PATH': str(drivers or EMU), **more}
    # Sanitizers object to a preload library in front of their runtime; ours is harmless to them.
    result['ASAN_OPTIONS'] = 'verify_asan_link_order=0:detect_leaks=0'
    return {name: value for name, value in result.items() if value is not None}


def run(command, env, stdin=None):
    return subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True,
                          timeout=120, check=False, stdin=stdin)


def plain(*command, **more):
    return run(command, environment(**more))


def recorded(folder, *command, **more):
    """Traces are FOLDER/PID.sbt."""
    return run(command, environment(LD_PRELOAD=CAPTURE, TS_OUTPUT=f'{folder}/%p.sbt', **more))


def traces(folder):
    return sorted(pathlib.Path(folder).glob('*.sbt*'))


def view(trace):
    """The trace's own object, and the list of its records."""
    shown = subprocess.run([os.environ['TS_TEST_VIEW'], '--json', str(trace)], capture_output=True,
                           text=True, check=True)
    head, *records = map(json.loads, shown.stdout.splitlines())
    return head, [record for record in records if 'call' in record]


def folder():
    return tempfile.TemporaryDirectory(prefix='ts-interpose.')


def equal(what, got, expected):
    if got != expected:
        failures.append(f'{what}: {got!r:.2000}, not {expected!r:.2000}')


def true(what, value):
    if not value:
        failures.append(what)


def same(directory, *command, **more):
    """Recording changes neither output nor status. Returns the recorded run."""
    without, with_us = plain(*command, **more), recorded(directory, *command, **more)
    equal('standard output', with_us.stdout, without.stdout)
    equal('standard error', with_us.stderr, without.stderr)
    equal('status', with_us.returncode, without.returncode)
    return with_us


def finish():
    print('\n'.join(failures))
    sys.exit(1 if failures else 0)
