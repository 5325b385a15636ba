#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith clocks` of clocks whose offset and speed are known, which begin again, are reset, or go on while the host sleeps;
`tracesmith stats` has the durations all the same.

usage: clocks_made.py TRACESMITH MAKE_CLOCKS"""

import json
import pathlib
import subprocess
import sys
import tempfile

TOOL, MAKE = sys.argv[1:]
COUNT = 4000  # 4 s
HALF = COUNT // 2 * 3  # first record behind half of the time


def show(command, trace, status=0, *options):
    done = subprocess.run([TOOL, command, *options, trace], capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == status, (command, options, done.returncode, done.stdout[-500:], done.stderr)
    return done.stdout


def made(folder, offset, ppb, bits=0, event='none'):
    trace = folder / f'{offset}.{ppb}.{bits}.{event}.sbt'
    subprocess.run([MAKE, trace, str(COUNT), str(offset), str(ppb), str(bits), event], check=True, timeout=200)
    return trace


def check_known(folder):
    for offset in (0, 5 << 40, -(3 << 50)):
        for ppb in (0, 250_000, -40_000_000):
            trace = made(folder, offset, ppb)
            clock = json.loads(show('clocks', trace, 0, '--json'))['clocks'][0]
            drift = (1 / (1 + ppb / 1e9) - 1) * 1e6
            assert clock['drift_least_ppm'] <= drift <= clock['drift_most_ppm'], (drift, clock)
            # Between a call and the start, and an end and the wait, 20 and 15 us at least.
            assert clock['drift_most_ppm'] - clock['drift_least_ppm'] < 2 * 40 / COUNT * 1000, clock
            # The first command starts at 20 us.
            first = -offset - 20 * ppb / 1e6
            assert clock['first_offset_least_ns'] <= first <= clock['first_offset_most_ns'], (first, clock)
            assert clock['first_offset_most_ns'] - clock['first_offset_least_ns'] < 50_000, clock
            assert clock['step_count'] == 0, clock


def check_broken(folder, steps, *how):
    trace = made(folder, *how)
    found = json.loads(show('clocks', trace, 1, '--json'))
    clock = found['clocks'][0]
    assert found['misfit_count'] == 1 and clock['drift_least_ppm'] is None and clock['step_count'] == steps, found['clocks']
    sides = {row['seq'] >= HALF for row in found['misfits']}
    assert {row['bound'][:4] for row in found['misfits']} == {'star', 'ends'}, found['misfits']
    assert sides == {False, True}, found['misfits']
    shown = show('clocks', trace, 1)
    assert 'what no offset and speed of a clock fit' in shown and ('went back 1 times' in shown) == bool(steps), shown
    return trace


def main():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        check_known(folder)
        for bits in (36, 40):  # nanoseconds: a minute, and 18
            trace = check_broken(folder, 1, (1 << bits) - COUNT // 2 * 1_000_000, 1000, bits)
            kernels = json.loads(show('stats', trace, 0, '--json'))['kernels']
            assert [(row['count'], row['max_ns'] - 100_000 in range(3)) for row in kernels] == [(COUNT, True)], kernels
        check_broken(folder, 1, 10 << 40, 1000, 0, 'reset')
        check_broken(folder, 0, 10 << 40, 1000, 0, 'suspend')


main()
