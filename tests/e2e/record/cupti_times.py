#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the times in the records of `tsview --json`, given as a file, with those that the stand-in for libcupti
wrote to a log: each command and node of a graph has the length of a piece of work there, whose start is where the
record says, give or take its error. --all: no work has no time; --nodes N: there are at least so many of graphs;
--lengths OTHER: commands are as long as in those records (a virtual clock is not the trace's)."""

import argparse
import bisect
import collections
import json
import sys


def read(path):
    with open(path, encoding='utf-8') as lines:
        records = [json.loads(line) for line in lines]
    return records[0], records[1:]


def times_of(records):
    return [r['args'] for r in records if r['call'] == 'gpu_time']


def compare(start, times, log):
    with open(log, encoding='utf-8') as lines:
        work = sorted((int(begin), int(end) - int(begin)) for _, begin, end in map(str.split, lines))
    whole = {(t['of_stream'], t['of_position']) for t in times if t['command']}
    checked = 0
    for t in times:
        if not t['command'] and (t['of_stream'], t['of_position']) in whole:
            continue
        # The stand-in's clock is fast by 40 millionths.
        begin, slack = start + t['start_ns'], t['error_ns'] + 2000
        found = any(abs(length - t['duration_ns']) <= 2 + length // 10000
                    for _, length in work[bisect.bisect_left(work, (begin - slack,)):bisect.bisect_right(work, (begin + slack + 1,))])
        assert found, f'no work of the device is that long and then: {t}'
        checked += 1
    return checked, len(work)


def check_launches(times):
    """A launch lasts from the first start to the last end of its nodes, and has the sum of their lengths."""
    nodes = collections.defaultdict(list)
    for t in times:
        place = t['of_stream'], t['of_position']
        if t['command']:
            nodes[place].append(t)
            assert t['command'] == len(nodes[place]), f'nodes of {place} are not numbered in order'
            assert len(nodes[place]) == 1 or t['start_ns'] + t['error_ns'] >= nodes[place][-2]['start_ns'], f'{place}: order'
        elif nodes[place]:
            first, last = nodes[place][0]['start_ns'], max(n['start_ns'] + n['duration_ns'] for n in nodes[place])
            slack = 2 * max(n['error_ns'] for n in nodes[place])
            assert abs(t['start_ns'] - first) <= slack and abs(t['start_ns'] + t['duration_ns'] - last) <= slack, (place, t)
            assert t['inner_ns'] == sum(n['duration_ns'] for n in nodes[place]), (place, t)
    return sum(map(len, nodes.values()))


def lengths(records):
    return {(t['of_stream'], t['of_position']): t['duration_ns'] for t in times_of(records) if not t['command']}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('records')
    parser.add_argument('log', nargs='?')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--nodes', type=int, default=0)
    parser.add_argument('--lengths')
    arguments = parser.parse_args()
    head, records = read(arguments.records)
    times = times_of(records)
    node_count = check_launches(times)
    if node_count < arguments.nodes:
        sys.exit(f'{node_count} nodes have times')
    if arguments.lengths:
        mine, other = lengths(records), lengths(read(arguments.lengths)[1])
        assert mine and set(mine) <= set(other), set(mine) - set(other)
        assert all(abs(mine[place] - other[place]) <= 1 + other[place] // 10000 for place in mine), (mine, other)
    if arguments.log:
        checked, work_count = compare(head['start_monotonic_ns'], times, arguments.log)
        print(f'{checked} of {work_count} pieces of work have times, {node_count} of graphs')
        if arguments.all and checked < work_count:
            sys.exit('some have none')


main()
