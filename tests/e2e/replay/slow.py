#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsreplay --timeout`: a kernel that takes longer is no hang as long as the software GPU executes it, up to ten times as long; one that
waits for memory to change is one."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BIN, CAPTURE, PROGRAMS, EMU = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'PROGRAMS', 'EMU'))
TIMEOUT = 1
LONG = 3.5  # seconds: longer than the timeout, shorter than ten times as long


def record(way, rounds):
    name = f'{way}-{rounds}.sbt'
    begin = time.monotonic()
    subprocess.run([PROGRAMS / 'slow', way, str(rounds)], stdout=subprocess.DEVNULL, check=True, timeout=200,
                   env={**os.environ, 'LD_LIBRARY_PATH': str(EMU), 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name,
                        'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')})
    return name, time.monotonic() - begin


def replay(trace):
    """(exit status, what it says, seconds)"""
    begin = time.monotonic()
    done = subprocess.run([BIN / 'tracesmith', 'replay', '--json', '--device', 'emu', '--timeout', str(TIMEOUT), trace],
                          capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, json.loads(done.stdout), time.monotonic() - begin


def check_long(way):
    """So many rounds that it takes LONG, as fast as this machine is now."""
    rounds, took = 1000000, 0
    while took < 0.3:
        rounds *= 4
        _, took = record(way, rounds)
    trace, took = record(way, int(rounds * LONG / took))
    status, answer, seconds = replay(trace)
    if took > 8 * TIMEOUT or seconds < TIMEOUT:
        return  # the machine has become slower, or faster, by far
    assert status == 0, (way, took, seconds, answer)


def check_endless(way, factor):
    trace, _ = record(way, 0)
    status, answer, seconds = replay(trace)
    assert status == 2, (way, answer)
    executes = 'nothing has ended, though kernels execute, for 10 s' in answer['error']
    assert executes == (factor > 1) and (executes or 'no progress for 1 s' in answer['error']), answer
    assert f'record {find_launch(trace)}, cuLaunchKernel of {way} (position' in answer['error'], answer
    assert seconds >= factor * TIMEOUT, seconds


def find_launch(trace):
    shown = subprocess.run([BIN / 'tracesmith', 'view', '--json', trace], capture_output=True, text=True, check=True).stdout
    return [r['seq'] for r in map(json.loads, shown.splitlines()) if r.get('call') == 'cuLaunchKernel'][0]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_long('counts')
    check_long('adds')
    check_endless('counts', 10)
    check_endless('polls', 1)
    check_endless('asks', 1)
sys.exit(0)
