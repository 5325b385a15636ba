#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what `tracesmith export` writes, by readers of this file's own: each format has the device time that `tracesmith stats`
sums up, under the stacks that `tracesmith view --stacks` shows."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

BIN = pathlib.Path(os.environ['TEST_BIN'])
PROGRAMS = pathlib.Path(os.environ['TEST_PROGRAMS'])
os.environ['TS_TEST_PTX'] = str(PROGRAMS / 'kernels.ptx')


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, check=True, timeout=200).stdout


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def message(data):
    """[(field, number or bytes)] of a protobuf message"""
    fields, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), key
        if key & 7 == 2:
            assert at + value <= len(data), 'a length past the end'
            value, at = data[at:at + value], at + value
        fields.append((key >> 3, value))
    return fields


def numbers(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def pprof_stacks(data):
    """{(names, innermost first): (count, ns)}"""
    profile = message(data)
    strings = [value.decode() for field, value in profile if field == 6]
    assert strings[0] == '' and len(set(strings)) == len(strings), strings
    types = [dict(message(value)) for field, value in profile if field == 1]
    assert [(strings[t[1]], strings[t[2]]) for t in types] == [('commands', 'count'), ('device', 'nanoseconds')], types
    functions = {dict(message(v))[1]: strings[dict(message(v))[2]] for f, v in profile if f == 5}
    locations = {}
    for value in (value for field, value in profile if field == 4):
        location = message(value)
        lines = [dict(message(v)) for f, v in location if f == 4]
        assert len(lines) == 1
        locations[dict(location)[1]] = functions[lines[0][1]]
    assert 0 not in functions and 0 not in locations
    stacks = {}
    for value in (value for field, value in profile if field == 2):
        sample = dict(message(value))
        names = tuple(locations[place] for place in numbers(sample[1]))
        count, ns = numbers(sample[2])
        old = stacks.get(names, (0, 0))
        stacks[names] = (old[0] + count, old[1] + ns)
    single = dict((f, v) for f, v in profile if f in (9, 10, 14))
    assert single[9] > 1.6e18 and single[10] > 0 and strings[single[14]] == 'device', single
    return stacks


def folded_stacks(text):
    stacks = {}
    for line in text.splitlines():
        names, ns = line.rsplit(' ', 1)
        key = tuple(reversed(names.split(';')))
        stacks[key] = stacks.get(key, 0) + int(ns)
    return stacks


def speedscope_stacks(text):
    file = json.loads(text)
    assert file['$schema'] == 'https://www.speedscope.app/file-format-schema.json'
    profile, frames = file['profiles'][0], file['shared']['frames']
    assert (profile['type'], profile['unit'], profile['startValue']) == ('sampled', 'nanoseconds', 0)
    assert len(profile['samples']) == len(profile['weights']) and profile['endValue'] == sum(profile['weights'])
    stacks = {}
    for sample, weight in zip(profile['samples'], profile['weights']):
        key = tuple(frames[place]['name'] for place in reversed(sample))
        stacks[key] = stacks.get(key, 0) + weight
    return stacks


def check(trace, *options):
    folded = folded_stacks(run(BIN / 'tracesmith', 'export', 'folded', *options, trace).decode())
    speedscope = speedscope_stacks(run(BIN / 'tracesmith', 'export', 'speedscope', *options, trace))
    run(BIN / 'tracesmith', 'export', 'pprof', '--force', '-o', 'out.pb', *options, trace)
    pprof = pprof_stacks(pathlib.Path('out.pb').read_bytes())
    stats = json.loads(run(BIN / 'tracesmith', 'stats', '--json', *options, trace))
    total = sum(row['total_ns'] or 0 for table in ('kernels', 'copies') for row in stats[table])
    assert sum(folded.values()) == total, (trace, sum(folded.values()), total)
    timed = {names: ns for names, ns in speedscope.items() if ns}
    assert timed == folded, (trace, timed, folded)
    assert {names: ns for names, (_, ns) in pprof.items() if ns} == folded, (trace, pprof, folded)
    assert sum(count for count, _ in pprof.values()) == sum(row['count'] for t in ('kernels', 'copies') for row in stats[t])
    return folded, stats


def check_sites(trace, folded):
    """Inclusive and exclusive time of the host's functions, from the folded stacks."""
    inclusive, exclusive = {}, {}
    for names, ns in folded.items():
        exclusive[names[1]] = exclusive.get(names[1], 0) + ns
        for name in set(names[1:]):
            inclusive[name] = inclusive.get(name, 0) + ns
    sites = json.loads(run(BIN / 'tracesmith', 'stats', '--json', '--section=sites', trace))['sites']
    assert {row['name']: row['inclusive_ns'] for row in sites if row['inclusive_ns']} == inclusive, (trace, sites, inclusive)
    assert {row['name']: row['exclusive_ns'] for row in sites if row['exclusive_ns']} == exclusive, (trace, sites, exclusive)
    assert [row['inclusive_ns'] for row in sites] == sorted((row['inclusive_ns'] for row in sites), reverse=True)


def main():
    for program in (('pipeline', '6'), ('graphs',), ('copies',), ('functions',)):
        trace = f'{program[0]}.sbt'
        run(BIN / 'tracesmith', 'record', '-q', '--emu', '--gpu-time=1', '-o', trace, '--', PROGRAMS / program[0], *program[1:])
        folded, stats = check(trace)
        assert any('main' in names for names in folded), folded
        check(trace, f'--streams={stats["streams"][0]["stream"]}')
        check_sites(trace, folded)
        print(f'{program[0]}: {len(folded)} stacks, {len(stats["kernels"])} kernels: equal')
    run(BIN / 'tracesmith', 'record', '-q', '--emu', '--stacks=off', '-o', 'plain.sbt', '--', PROGRAMS / 'saxpy')
    bare = subprocess.run([BIN / 'tracesmith', 'export', 'folded', 'plain.sbt'], capture_output=True, text=True, check=True)
    assert re.search('no times of the device', bare.stderr) or bare.stdout, bare
    wrong = subprocess.run([BIN / 'tracesmith', 'export', 'fold', 'plain.sbt'], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and 'there are folded' in wrong.stderr, wrong


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
