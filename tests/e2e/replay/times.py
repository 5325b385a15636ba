#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace of tsreplay --time -o must be the recording with times of each run in place of its own.

usage: times.py RECORDED TIMED RUNS [--part FIRST:END] [--stream N] [--least N] [--own | --some]

RECORDED and TIMED are what `tsview --json` prints. --part, --stream: nothing else has times. --own: what has a
time in the recording, and nothing else, has some. --some: a command may have no time in a run. Durations are compared with nothing."""
import argparse
import json

parser = argparse.ArgumentParser()
parser.add_argument('recorded')
parser.add_argument('timed')
parser.add_argument('runs', type=int)
parser.add_argument('--part', default=':')
parser.add_argument('--stream', type=int)
parser.add_argument('--least', type=int, default=1)
parser.add_argument('--own', action='store_true')
parser.add_argument('--some', action='store_true')
options = parser.parse_args()


def load(path):
    with open(path, encoding='utf-8') as lines:
        return [json.loads(line) for line in lines]


def place(time):
    return time['args']['of_stream'], time['args']['of_position'], time['args']['part']


head, *timed = load(options.timed)
recorded = load(options.recorded)[1:]
assert head['metadata']['timed.runs'] == str(options.runs), head['metadata']
assert head['metadata']['timed.device'] and head['metadata']['timed.clocks'], head['metadata']

# All other records are there, as they were.
plain = [r for r in recorded if r['call'] != 'gpu_time']
others = [r for r in timed if r['call'] != 'gpu_time']
assert len(plain) == len(others), (len(plain), len(others))
for was, now in zip(plain, others):
    for record in (was, now):
        record['old_seq'] = was['seq']
    assert {**was, 'seq': 0} == {**now, 'seq': 0}, (was, now)

# Times come right behind their command, run after run.
times, command = {}, None
for record in timed:
    if record['call'] != 'gpu_time':
        command = record
        continue
    assert place(record)[:2] == (command['stream'], command['position']), (command, record)
    assert 'calibrated' not in str(record['args']['flags']), record
    assert record['args']['duration_ns'] < 600 * 10**9, record
    times.setdefault(place(record), []).append(record['args']['run'])
for where, runs in times.items():
    wanted = list(range(options.runs))
    assert runs == (sorted(set(runs) & set(wanted)) if options.some else wanted), (where, runs)
assert len(times) >= options.least, len(times)

# Nothing outside of what was asked for.
first, end = (int(text) if text else None for text in options.part.split(':'))
seqs = {(r['stream'], r['position']): r['old_seq'] for r in others if r['position']}
for stream, position, part in times:
    seq = seqs[stream, position]
    assert (first is None or seq >= first) and (end is None or seq < end), (seq, options.part)
    assert options.stream is None or stream == options.stream, (stream, options.stream)

if options.own: # waits take no time of their own
    names = {(r['stream'], r['position']): r['call'] for r in others if r['position'] and r['kind'] == 'command'}
    own = {place(r) for r in recorded if r['call'] == 'gpu_time' and place(r)[:2] in names}
    assert set(times) == own, [(names[p[:2]], p) for p in sorted(set(times) ^ own)]
