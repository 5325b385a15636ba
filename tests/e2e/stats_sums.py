#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `tracesmith stats` with sums that this script makes of `tracesmith view --json` by itself, for several programs and
parts of them."""

import csv
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ['TEST_BIN'])
PROGRAMS = pathlib.Path(os.environ['TEST_PROGRAMS'])
os.environ['TS_TEST_PTX'] = str(PROGRAMS / 'kernels.ptx')
SORTS = {'signal', 'wait', 'command'}
RUNS = [('saxpy',), ('pipeline', '4'), ('copies',), ('graphs',), ('pools',), ('hostmem',), ('functions',)]


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, timeout=200).stdout


def records(trace):
    return [r for r in map(json.loads, run(BIN / 'tracesmith', 'view', '--json', trace).splitlines()) if 'call' in r]


def percentile(values, percent):
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def durations(trace, first, end):
    """{(stream, position): (record, ns or None)} of commands in [first, end)"""
    all_records = records(trace)
    times = {(r['args']['of_stream'], r['args']['of_position']): r['args']['duration_ns'] for r in all_records
             if r['call'] == 'gpu_time'}
    return {(r['stream'], r['position']): (r, times.get((r['stream'], r['position'])))
            for r in all_records if r['kind'] in SORTS and r['position'] and first <= r['seq'] < end
            and not {'failed', 'captured'} & set(r['flags'])}


def expected_kernels(commands):
    groups = {}
    for r, ns in commands.values():
        if 'name' in r['args'] and r['call'].startswith('cuLaunch') and r['kind'] == 'command':
            groups.setdefault(r['args']['name'], []).append(ns)
    return groups


def check_numbers(row, all_ns, trace):
    ns = [n for n in all_ns if n is not None]
    assert row['count'] == len(all_ns), (trace, row, len(all_ns))
    if not ns:
        assert row['total_ns'] is None, (trace, row)
        return
    wanted = {'total_ns': sum(ns), 'min_ns': min(ns), 'max_ns': max(ns), 'mean_ns': sum(ns) // len(ns),
              'p99_ns': percentile(ns, 99), 'timed_count': len(ns)}
    median = sorted(ns)[len(ns) // 2] if len(ns) % 2 else sum(sorted(ns)[len(ns) // 2 - 1:len(ns) // 2 + 1]) // 2
    wanted['median_ns'] = median
    for name, value in wanted.items():
        assert row[name] == value, (trace, name, row[name], value)
    if len(ns) > 1:
        assert abs(row['deviation_ns'] - statistics.stdev(ns)) <= 1 + 1e-9 * statistics.stdev(ns), (trace, row)


def check_part(trace, first=0, end=1 << 60, *options):
    stats = json.loads(run(BIN / 'tracesmith', 'stats', '--json', *options, trace))
    commands = durations(trace, first, end)
    kernels = expected_kernels(commands)
    shown = {row['name']: row for row in stats['kernels'] if row['work'] == 'kernel'}
    assert shown.keys() == kernels.keys(), (trace, options, shown.keys(), kernels.keys())
    for name, all_ns in kernels.items():
        check_numbers(shown[name], all_ns, trace)
    moved = [ns for r, ns in commands.values() if r['kind'] == 'command' and
             (r['call'].startswith('cuMemset') or r['call'].startswith('cuMemcpy'))]
    counted = sum(row['count'] for row in stats['copies'])
    assert counted == len(moved), (trace, options, counted, len(moved))
    timed = sum(row['total_ns'] or 0 for row in stats['copies'] if row['timed_count'] == row['count'])
    assert timed <= sum(ns or 0 for ns in moved) or not timed, (trace, timed)
    assert stats['command_count'] == len(commands), (trace, options, stats['command_count'], len(commands))
    return stats


def check_calls(trace, stats):
    calls = {}
    for r in records(trace):
        if r['api'] != 'core':
            calls.setdefault(r['call'], []).append(r['duration_ns'])
    shown = {row['name']: row for row in stats['calls']}
    assert shown.keys() == calls.keys(), (trace, set(shown) ^ set(calls))
    for name, ns in calls.items():
        assert (shown[name]['count'], shown[name]['total_ns']) == (len(ns), sum(ns)), (trace, shown[name])


def check_csv(trace, stats):
    text = run(BIN / 'tracesmith', 'stats', '--csv', '--section=kernels', trace)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row['name'], int(row['count'])) for row in rows] == [(r['name'], r['count']) for r in stats['kernels']], rows


def check_huge():
    """Times that come to more than a number holds: no share is above all of it."""
    trace = pathlib.Path('huge.sbt')
    run(BIN / 'tracesmith', 'record', '-q', '--emu', '--gpu-time=1', '-o', trace, '--', PROGRAMS / 'pipeline', '4')
    for number, one in enumerate([r for r in records(trace) if r['call'] == 'gpu_time']):
        start, length = ((1 << 64) - 5, (1 << 63) - 1) if number == 1 else (number, (1 << 61) + number)
        for slot, value in ((3, start), (4, length)):
            run(PROGRAMS / 'alter_trace', trace, 'altered.sbt', 'slot', one['seq'], f'{slot}:{value}')
            pathlib.Path('altered.sbt').rename(trace)
    for options in ([], ['--json'], ['--section=sites']):
        run(BIN / 'tracesmith', 'stats', *options, trace)
    run(BIN / 'tracesmith', 'export', 'pprof', '-o', 'huge.pb', trace)
    stats = json.loads(run(BIN / 'tracesmith', 'stats', '--json', trace))
    rows = [row for table in ('kernels', 'copies') for row in stats[table]]
    assert stats['measured_count'] and all(row['share_percent'] <= 100 for row in rows), rows


def check_axes():
    """A stream in virtual time, and others on the host's clock: each is busy in its own time, and there is none of all."""
    trace = pathlib.Path('axes.sbt')
    os.environ['TS_EMU_TIME'] = 'virtual'
    run(BIN / 'tracesmith', 'record', '-q', '--emu', '--gpu-time=1', '-o', trace, '--', PROGRAMS / 'pipeline', '4')
    del os.environ['TS_EMU_TIME']
    times = [r for r in records(trace) if r['call'] == 'gpu_time']
    before = json.loads(run(BIN / 'tracesmith', 'stats', '--json', trace))
    assert before['engines'][0]['busy_percent'] is not None, before['engines']
    first = min(r['args']['of_stream'] for r in times)
    for one in times:
        if one['args']['of_stream'] != first:
            for slot, value in ((3, one['args']['start_ns'] * 1000), (4, one['args']['duration_ns'] * 1000), (5, 1)):
                run(PROGRAMS / 'alter_trace', trace, 'altered.sbt', 'slot', one['seq'], f'{slot}:{value}')
                pathlib.Path('altered.sbt').rename(trace)
    stats = json.loads(run(BIN / 'tracesmith', 'stats', '--json', trace))
    busy = {row['stream']: row['busy_percent'] for row in stats['streams'] if row['timed_count']}
    assert len(busy) > 1 and all(percent <= 100 for percent in busy.values()), stats['streams']
    for row in stats['engines'] + stats['devices']:
        assert row['busy_percent'] is None and row['busy_ns'] is None, row


def main():
    check_huge()
    check_axes()
    for number, program in enumerate(RUNS):
        trace = f'{number}-{program[0]}.sbt'
        run(BIN / 'tracesmith', 'record', '-q', '--emu', '--gpu-time=1', '-o', trace, '--', PROGRAMS / program[0], *program[1:])
        stats = check_part(trace)
        check_calls(trace, stats)
        check_csv(trace, stats)
        last = records(trace)[-1]['seq']
        for first, end in ((0, last // 2), (last // 3, last), (last // 2, last // 2 + 1)):
            check_part(trace, first, end, f'--range={first}:{end}')
        print(f'{" ".join(program)}: {stats["command_count"]} commands, {len(stats["kernels"])} kernels: equal')
    return 0


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(main())
