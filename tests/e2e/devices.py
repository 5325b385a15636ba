#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two devices that work at the same time, in virtual time: `tracesmith stats` has a row for each, whose sums are those that
docs/emu.md says, and work on one is no work on the other; `tracesmith clocks` has a clock for each."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ['TEST_BIN'])
PROGRAMS = pathlib.Path(os.environ['TEST_PROGRAMS'])
# docs/emu.md: 16 KiB, from the device and as a memset, at the default rates.
COPY = 1500 + -(-1000 * 16384 // 12000)
FILL = -(-1000 * 16384 // 300000)
# Streams of each device, and how many kernels it was given.
STREAMS = {'cuda 0': ({0, 1}, 2), 'cuda 1': ({2, 3}, 3)}


def run(words, **settings):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200, check=False,
                          env={**os.environ, **settings})
    assert done.returncode == 0, (words, done.returncode, done.stdout[-600:], done.stderr[-600:])
    return done.stdout


def show(command, trace, *options):
    return json.loads(run([BIN / 'tracesmith', command, '--json', *options, trace]))


def union(spans):
    total, until = 0, -1
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def spans_of(trace):
    """[(stream, is a kernel, start, end)]"""
    records = [json.loads(line) for line in run([BIN / 'tracesmith', 'view', '--json', trace]).splitlines()]
    kernels = {(r['stream'], r['position']) for r in records if r.get('call') == 'cuLaunchKernel'}
    return [(a['of_stream'], (a['of_stream'], a['of_position']) in kernels, a['start_ns'], a['start_ns'] + a['duration_ns'])
            for a in (r['args'] for r in records if r.get('call') == 'gpu_time')]


def check_device(row, spans, kernel_ns):
    streams, kernels = STREAMS[row['device']]
    own = [span for span in spans if span[0] in streams]
    assert row['stream_count'] == 2 and row['command_count'] == row['timed_count'] == kernels + 2, row
    assert row['compute_ns'] == kernels * kernel_ns, (row, kernel_ns)
    assert row['copy_ns'] == COPY + FILL, (row, COPY, FILL)
    assert row['busy_ns'] == union((start, end) for _, _, start, end in own), row
    assert row['overlap_ns'] == row['compute_ns'] + row['copy_ns'] - row['busy_ns'], row
    first, last = min(span[2] for span in spans), max(span[3] for span in spans)
    assert abs(row['busy_percent'] - 100 * row['busy_ns'] / (last - first)) < 0.06, row


def check_map(trace):
    """Which device stands for which recorded one: each has one, and no two have the same."""
    cases = {'0:0,1:1': '', '0:1,1:0': '', '1:2,0:1,7:0': '', '0:1': 'wants device 1; --device-map names none',
             '0:1,1:1': 'device 1 is named twice', '0:0,0:1': 'device 0 is named twice', '0:1,1:3': 'no device 3', '0-1': 'is no map',
             '0:1,': 'is no map', '': 'is no map', '0:-1': 'is no map', '0:99999999999': 'is no map'}
    for words, message in cases.items():
        done = subprocess.run([BIN / 'tracesmith', 'replay', '--device=emu', f'--device-map={words}', trace], capture_output=True, text=True,
                              check=False, env={**os.environ, 'TS_EMU_DEVICES': '3', 'TS_EMU_STREAMS': 'serial'})
        assert (done.returncode == 2 and message in done.stderr) if message else done.returncode == 0, (words, done)
    done = subprocess.run([BIN / 'tracesmith', 'replay', '--device=1', '--device-map=0:1', trace], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and 'give one of them' in done.stderr, done


def main():
    with tempfile.TemporaryDirectory(prefix='ts-devices.') as folder:
        trace = pathlib.Path(folder) / 't.sbt'
        run([PROGRAMS / 'devices'], LD_LIBRARY_PATH=os.environ['TEST_EMU'], LD_PRELOAD=os.environ['TEST_CAPTURE'],
            TS_TEST_PTX=str(PROGRAMS / 'kernels.ptx'), TS_OUTPUT=str(trace), TS_GPU_TIME='1', TS_EMU_DEVICES='2',
            TS_EMU_TIME='virtual')
        stats = show('stats', trace, '--by=device')
        kernels = {row['device']: row for row in stats['kernels']}
        assert kernels.keys() == STREAMS.keys() and {row['name'] for row in kernels.values()} == {'mix'}, kernels
        kernel_ns = kernels['cuda 0']['total_ns'] // 2
        assert kernels['cuda 1']['total_ns'] == 3 * kernel_ns > 0, kernels
        assert sorted(row['device'] for row in stats['copies']) == ['cuda 0', 'cuda 0', 'cuda 1', 'cuda 1'], stats['copies']
        spans = spans_of(trace)
        assert [row['device'] for row in stats['devices']] == list(STREAMS), stats['devices']
        for row in stats['devices']:
            check_device(row, spans, kernel_ns)
        for row in stats['streams']:
            assert row['stream'] in STREAMS[row['device']][0], row
        # Both worked at once: all streams together are busy for less time than the two.
        assert stats['engines'][0]['compute_ns'] < 5 * kernel_ns, stats['engines']
        assert {row['device'] for row in show('stats', trace)['devices']} == set(STREAMS)
        assert 'cuda 1' in run([BIN / 'tracesmith', 'stats', trace]).split('\ndevices\n')[1]
        check_map(trace)
        clocks = show('clocks', trace)['clocks']
        assert [(row['device'], row['clock'], row['command_count']) for row in clocks] == [
            ('cuda 0', 'virtual', 4), ('cuda 1', 'virtual', 5)], clocks


if __name__ == '__main__':
    if os.environ.get('TEST_SANITIZED'):
        sys.exit(77)
    main()
