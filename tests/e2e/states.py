#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsview --states`: intervals cover the time of each stream, engine and device, without gap or overlap; what runs does so when the
recording says; a wait ends when what it names ends; and nothing is found that began too early."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BIN, CAPTURE, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'PROGRAMS'))
RUN = (['saxpy'], ['streams'], ['linked'], ['pipeline'], ['staging'], ['rounds'], ['captures'], ['pools'], ['managed'],
       *(['scheduled', str(seed)] for seed in (1, 2, 3, 77)))


def tool(*words, status=0):
    done = subprocess.run([BIN / 'tracesmith', *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout[:2000], done.stderr)
    return done


def record(name, words, **settings):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_GPU_TIME': '1',
                   'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx'), **settings}
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)


def tracks(rows):
    found = {}
    for row in rows:
        found.setdefault(row['of'], []).append(row)
    return found


def check_cover(answer, rows, what):
    """The intervals are next to each other, from the first call to the last end."""
    at = answer['begin_ns']
    for row in rows:
        assert row['begin_ns'] == at and row['end_ns'] - row['begin_ns'] == row['duration_ns'] > 0, (what, at, row)
        assert (row['state'] == 'running') == (row['reason'] is None and row['seq'] is not None), row
        at = row['end_ns']
    assert at == answer['end_ns'], (what, at, answer['end_ns'])


def check_command(rows, what):
    for a, b in zip(rows, rows[1:]):
        assert a['end_ns'] == b['begin_ns'], (what, a, b)
    kinds = [row['state'] for row in rows]
    assert kinds.index('running') >= 0 if 'running' in kinds else True
    if not any(r['name'] == 'cuGraphLaunch' for r in rows):
        order = {'pending': (0, 2), 'wait': (1, 1), 'running': (3, 3)}
        at = 0
        for kind in kinds:
            assert order[kind][1] >= at, (what, kinds)
            at = max(at, order[kind][0])


def check_times(answer, records, ends):
    """Of each command that has a time, but for launches of graphs, whose nodes run apart."""
    times = {(r['args']['of_stream'], r['args']['of_position']): r['args'] for r in records if r['call'] == 'gpu_time'}
    running = {}
    for row in answer['commands']:
        ends[row['seq']] = max(ends.get(row['seq'], 0), row['end_ns'])
        if row['state'] == 'running':
            running.setdefault(row['seq'], []).append(row)
    count = 0
    for r in records:
        t = times.get((r['stream'], r['position']))
        if not t or r['call'] == 'cuGraphLaunch' or not t['duration_ns']:
            continue
        rows = running[r['seq']]
        assert len(rows) == 1 and rows[0]['begin_ns'] == t['start_ns'] and rows[0]['duration_ns'] == t['duration_ns'], (r, t, rows)
        count += 1
    return count


def check(name, words):
    answer = json.loads(tool('view', '--states', '--json', name).stdout)
    records = [json.loads(line) for line in tool('view', '--json', name).stdout.splitlines()][1:]
    streams = {r['seq']: r['stream'] for r in records}
    calls = {r['seq']: r['call'] for r in records}
    ends = {}
    assert answer['virtual'] and not answer['findings'], (words, answer['findings'])
    assert check_times(answer, records, ends) > 1, words
    for kind in ('streams', 'engines', 'devices'):
        for of, rows in tracks(answer[kind]).items():
            check_cover(answer, rows, (words, kind, of))
    for of, rows in tracks(answer['commands']).items():
        check_command(rows, (words, of))
    for row in answer['commands'] + answer['streams']:
        if row['state'] == 'wait' and row['reason'] == 'event' and calls[row['by']] == 'cuEventRecord':
            assert streams[row['by']] != streams[row['seq']], row
        if row['state'] == 'wait' and row['by'] is not None and calls[row['by']] not in ('cuGraphLaunch', 'cuEventRecord', 'cuStreamWaitEvent'):
            assert row['end_ns'] == ends[row['by']], (words, row, ends[row['by']])
    return sum(row['reason'] == 'event' for row in answer['streams'])


def check_real():
    """Times that were measured: all is covered, too."""
    record('real.sbt', ['pipeline'])
    answer = json.loads(tool('view', '--states', '--json', 'real.sbt').stdout)
    assert not answer['virtual']
    for kind in ('streams', 'engines', 'devices'):
        for of, rows in tracks(answer[kind]).items():
            check_cover(answer, rows, ('real', kind, of))
    text = tool('view', '--states', 'real.sbt').stdout
    assert all(word in text for word in ('commands', 'streams', 'engines', 'devices', 'running', 'latency')), text


def check_refused():
    """Nothing that is asked for is left out without a word."""
    for option in '--range=20:30', '--streams=1', '--calls=cuMem*', '--failed', '--limit=3', '--stacks', '--tree':
        done = tool('view', '--states', option, 'real.sbt', status=2)
        assert 'whole trace' in done.stderr and not done.stdout, (option, done)


def main():
    waits = 0
    for words in RUN:
        record('a.sbt', words, TS_EMU_TIME='virtual')
        waits += check('a.sbt', words)
    assert waits > 10, waits
    check_real()
    check_refused()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(0)
