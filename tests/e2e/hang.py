#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith graph --hang` of programs that were killed while they hung: the cycle in which their commands wait for each other, each with
what it waits for and the program's stack; or the open end. A program that waits alike and does not hang has none."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

BIN, CAPTURE, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'PROGRAMS'))
WAIT, KERNEL, WRITE = 'cuStreamWaitValue32_v2', 'cuLaunchKernel', 'cuStreamWriteValue32_v2'


def record(way, ends=False):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': 'a.sbt', 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    with subprocess.Popen([PROGRAMS / 'hangs', way], env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == 'hangs\n'
        try:
            assert program.wait(timeout=20 if ends else 0.5) == 0 and ends, way
        except subprocess.TimeoutExpired:
            assert not ends
            program.send_signal(signal.SIGKILL)


def tool(*words, status):
    done = subprocess.run([BIN / 'tracesmith', 'graph', '--hang', *words, 'a.sbt'], capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def hang(way, status):
    record(way)
    found = json.loads(tool('--json', status=status))
    call, = found['calls']
    assert call['call'] == 'cuCtxSynchronize', call
    stacks = {stack['seq']: ' '.join(stack['frames']) for stack in found['stacks']}
    assert all('main' in stacks[row['seq']] for row in found['cycles'] + found['open_ends']), stacks
    return found


def check_cycle(way, streams, other):
    """Each row waits for the next one, the last one for the first."""
    found = hang(way, 1)
    rows = found['cycles']
    assert found['cycle_count'] == 1 and {row['cycle'] for row in rows} == {1} and not found['open_ends'], found
    assert [row['before'] for row in rows] == [row['seq'] for row in rows[1:] + rows[:1]], rows
    assert len(rows) == 3 * streams and {row['stream'] for row in rows} == set(range(1, streams + 1)), rows
    assert [row['call'] for row in rows] == [WAIT, WRITE, KERNEL] * streams
    for wait, write in zip(rows[::3], rows[1::3]):
        assert wait['reason'] == 'value' and wait['value'] == 'v >= 0x1' and write['value'] == 'v = 0x1', (wait, write)
        assert wait['address'] == write['address'] and wait['stream'] != write['stream'], (wait, write)
    assert len(found['commands']) == len(rows) + other, found['commands']
    return found


def check_pairs():
    """The fifth stream leads to the second pair, which is found first."""
    found = hang('pairs', 1)
    assert found['cycle_count'] == 2 and not found['open_ends'] and len(found['commands']) == 13, found
    streams = [{row['stream'] for row in found['cycles'] if row['cycle'] == number} for number in (1, 2)]
    assert streams == [{3, 4}, {1, 2}] and len(found['cycles']) == 12, found['cycles']


def check_open(way, calls, note):
    found = hang(way, 0)
    assert not found['cycle_count'] and not found['cycles'], found
    assert [row['call'] for row in found['open_ends']] == calls, found['open_ends']
    assert note in found['open_ends'][-1]['note'] and all(row['before'] is None for row in found['open_ends']), found['open_ends']


def main():
    check_cycle('crossed', 2, 0)
    text = tool(status=1)
    assert '1 cycle\n' in text and 'wait_for at hangs.c' in text and 'calls that had not returned' in text, text
    assert tool('--top=1', status=1).count('wait_for at hangs.c') == 1
    found = check_cycle('ring', 3, 3)
    assert [row['reason'] for row in found['commands'][-3:]] == ['stream', 'event', 'stream'], found['commands']
    check_pairs()
    check_open('open', [WAIT], 'no command writes a value there')
    check_open('too_low', [WRITE, WAIT], 'writes another value')
    check_open('function', ['cuLaunchHostFunc'], 'function of the program')
    record('goes_on', ends=True)
    found = json.loads(tool('--json', status=0))
    assert not any(found[name] for name in ('cycles', 'open_ends', 'commands', 'calls')), found
    assert 'all commands have finished' in tool(status=0)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(0)
