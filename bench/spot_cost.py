#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What spot checks cost: bench/spot_cost.py BUILD [ROUNDS]

CPU seconds (user and system, the program's threads included) of programs of the tests on the software GPU: not recorded, recorded with
TS_CHECKSUM=off, auto (the default) and sync, in turns; the least of ROUNDS (default 5). Then bytes of the trace, how many hashes it has,
and how many bytes they are of.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
PROGRAMS = BUILD / 'tests/programs'
WAYS = ('none', 'off', 'auto', 'sync')
CASES = (['pipeline', '40'], ['rounds', '400', '10'], ['threads'], ['graphs'], ['functions'], ['many', '20000'], ['spots', '1', '2000'],
         ['spots', '16', '500'], ['spots', '64', '200'], ['spots', '1024', '50'], ['spots', '3072', '20'])


def run(words, way, trace):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('TS_')}
    environment |= {'LD_LIBRARY_PATH': str(BUILD / 'emu'), 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    if way != 'none':
        environment |= {'LD_PRELOAD': str(BUILD / 'interpose/libts_capture.so'), 'TS_OUTPUT': str(trace), 'TS_CHECKSUM': way}
    before = os.times()
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def hashes(trace):
    shown = subprocess.run([BUILD / 'tools/tracesmith', 'view', '--json', trace], capture_output=True, text=True, check=True)
    sizes = [r['args']['size'] for r in map(json.loads, shown.stdout.splitlines()) if r.get('call') == 'checksum']
    return len(sizes), sum(sizes)


def main():
    print('| program |' + ''.join(f' {way} |' for way in WAYS) + ' trace: off | auto | hashes: auto | sync | MiB hashed: auto | sync |')
    print('|---|' + '---|' * 10)
    for words in CASES:
        seconds = {way: [] for way in WAYS}
        with tempfile.TemporaryDirectory() as folder:
            traces = {way: pathlib.Path(folder) / f'{way}.sbt' for way in WAYS}
            for _ in range(ROUNDS):
                for way in WAYS:
                    traces[way].unlink(missing_ok=True)
                    seconds[way].append(run(words, way, traces[way]))
            counts = {way: hashes(traces[way]) for way in ('auto', 'sync')}
            cells = [f'{min(seconds[way]):.2f}' for way in WAYS]
            cells += [str(traces[way].stat().st_size) for way in ('off', 'auto')]
            cells += [str(counts[way][0]) for way in ('auto', 'sync')] + [f'{counts[way][1] / 2**20:.1f}' for way in ('auto', 'sync')]
        print(f'| {" ".join(words)} | ' + ' | '.join(cells) + ' |', flush=True)


main()
