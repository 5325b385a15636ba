#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the GPU times in the records of `tsview --json`, given as a file. What must be so on any machine:
causes come before effects, within the error that the record states. --unordered: commands of a stream may overlap.
--timed CALL: each such command has a time. --sparse: there may be none. --exact: no time has an error."""

import argparse
import json
import sys

UNTIMED = ('cuLaunchHostFunc', 'cuStreamAddCallback', 'cuStreamBatchMemOp', 'cuMemFreeAsync', 'cuMemAllocAsync',
           'cuMemAllocFromPoolAsync', 'cuStreamAttachMemAsync', 'cuMemPrefetchAsync', 'cuGraphUpload')


def read(path):
    with open(path, encoding='utf-8') as lines:
        return [json.loads(line) for line in lines][1:]


def check(records, is_ordered):
    commands = {(r['stream'], r['position']): r for r in records
                if r['kind'] == 'command' and r['stream'] is not None and r['position'] and 'FAILED' not in r['flags']
                and 'captured' not in r['flags'] and 'failed' not in r['flags']}
    times = {}
    for seq, r in enumerate(records):
        if r['call'] != 'gpu_time' or r['args']['command']:  # a node of a graph: cupti_times.py
            continue
        args = r['args']
        place = (args['of_stream'], args['of_position'])
        assert place in commands, f'{place} is no command'
        assert place not in times, f'{place} has two times'
        assert 'calibrated' in args['flags'], args
        times[place] = args
        command = commands[place]
        error = args['error_ns']
        assert args['start_ns'] + error >= command['time_ns'], f'{command["call"]} {place} ran before it was sent: {args}'
        assert args['start_ns'] + args['duration_ns'] <= r['time_ns'] + error, f'{place} ended after its time was known'
    last = {}
    for place in sorted(times):
        start, error = times[place]['start_ns'], times[place]['error_ns']
        assert not is_ordered or start + 2 * error >= last.get(place[0], 0), f'{place} began before the one before it'
        last[place[0]] = start
    return commands, times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('records')
    parser.add_argument('--unordered', action='store_true')
    parser.add_argument('--timed')
    parser.add_argument('--sparse', action='store_true')
    parser.add_argument('--exact', action='store_true')
    arguments = parser.parse_args()
    commands, times = check(read(arguments.records), not arguments.unordered)
    missing = [commands[place]['call'] for place in commands
               if place not in times and not commands[place]['call'].startswith(UNTIMED)]
    print(f'{len(times)} of {len(commands)} commands have times; without: {sorted(set(missing))}')
    if arguments.timed in missing:
        sys.exit(f'{missing.count(arguments.timed)} of {arguments.timed} without a time')
    if arguments.exact and any(time['error_ns'] for time in times.values()):
        sys.exit('a time with an error')
    if not times and not arguments.sparse:
        sys.exit('no times')


main()
