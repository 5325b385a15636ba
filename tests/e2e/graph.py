#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith graph`: programs are recorded in virtual time, in which nothing may begin before what it depends on has ended. What
depends on what is computed again here, from `tsview --json`, with sets in place of vector clocks: both must agree, an edge that is
redundant must add nothing to the others, and one that is needed must."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
RUN = (['streams'], ['weave'], ['linked'], ['pipeline'], ['graphs'], ['overtakes'], ['two'], ['threads'], ['staging'], ['queues'],
       ['rounds'], ['asked'], ['learns'], ['default_streams'], ['default_streams', 'quiet'], ['captures'], ['pools'])


def tool(*words, status=0):
    done = subprocess.run([BIN / 'tracesmith', *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout[:2000], done.stderr)
    return done.stdout


def record(name, words):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_EMU_TIME': 'virtual', 'TS_GPU_TIME': '1',
                   'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)


def read(name):
    records = [json.loads(line) for line in tool('view', '--json', name).splitlines()][1:]
    times = {(r['args']['of_stream'], r['args']['of_position']): r['args'] for r in records if r['call'] == 'gpu_time'}
    return records, times


class Naive:
    """Sets of commands that have ended when others begin, by the rules of CUDA's streams; of programs with one thread."""

    WAITING = ('cuMemcpyHtoD', 'cuMemcpyDtoH', 'cuMemcpyHtoA', 'cuMemcpyAtoH')

    def __init__(self, records):
        self.ended = {}  # command -> those that have ended when it begins; wait -> when it returns
        self.last = {}  # stream -> those that have ended when its last command has
        self.default, self.apart, self.owner = {}, set(), {}
        self.events, self.known, self.barrier, self.context = {}, set(), set(), None
        self.positions = {}
        for r in records:
            if not {'failed', 'captured'} & set(r['flags']) and r['api'] in ('cuda', 'core'):
                self.note(r)

    def joined(self, stream):
        """What a new command of the stream waits for."""
        found = set(self.last.get(stream, ()))
        for other, ended in self.last.items():
            if self.owner[other] != self.owner.get(stream, self.context) or other in self.apart or stream in self.apart:
                continue
            if (other in self.default) != (stream in self.default):
                found |= ended
        return found

    def command(self, r):
        unknown = {'ordered', 'taints'} & set(r['flags'])
        stream = r['stream']
        self.owner.setdefault(stream, self.context)
        begin = self.joined(stream) | self.known | self.barrier
        if r['kind'] == 'wait' and r['args'].get('hEvent'):
            begin |= self.events.get(r['args']['hEvent'], set())
        if unknown:
            begin = begin.union(*self.last.values())
        self.ended[r['seq']] = begin
        self.last[stream] = begin | {r['seq']}
        self.positions[stream, r['position']] = self.last[stream]
        if r['kind'] == 'signal':
            self.events[r['args']['hEvent']] = self.last[stream]
        if unknown:
            self.barrier = self.last[stream]
        if r['call'].startswith(self.WAITING) and 'Async' not in r['call']:
            self.known = self.known | (begin if 'HtoD' in r['call'] or 'HtoA' in r['call'] else self.last[stream])
        if 'GraphLaunch' in r['call']:  # nodes may record any event
            self.events = {}

    def note(self, r):
        args = r['args']
        if r['call'].startswith('cuCtxCreate'):
            self.context = args['pctx']
            self.default[args['default_stream']] = self.context
            self.owner[args['default_stream']] = self.context
        elif r['call'].startswith('cuStreamCreate'):
            self.owner[args['number']] = self.context
            if 'NON_BLOCKING' in str(args):
                self.apart.add(args['number'])
        elif r['kind'] in ('command', 'signal', 'wait') and r['stream'] is not None and r['position']:
            self.command(r)
        elif r['call'] == 'complete':
            self.known = self.known | self.positions.get((args['of_stream'], args['of_position']), set())
        elif r['kind'] == 'sync' and r['stream'] is not None:
            self.known = self.known | (self.joined(r['stream']) if r['stream'] in self.default else self.last.get(r['stream'], set()))
        elif r['kind'] == 'sync' and 'hEvent' in args:
            self.known = self.known | self.events.get(args['hEvent'], set())
        elif r['kind'] == 'sync':
            self.known = self.known.union(*(ended for s, ended in self.last.items() if self.owner[s] == self.context))
        if r['kind'] == 'sync' or r['call'] == 'complete':
            self.ended[r['seq']] = self.known


def ancestors(nodes, edges, kinds=lambda edge: True):
    """Commands that come before each node, as sets, by edges alone. Edges lead forwards but for those of late records."""
    into = {}
    for edge in edges:
        if kinds(edge):
            into.setdefault(edge['to'], []).append((edge['from'], edge['begin']))
    found = {}

    def of(seq):
        todo = [seq]
        while todo:
            at = todo[-1]
            missing = [before for before, _ in into.get(at, ()) if before not in found]
            if missing:
                todo += missing
                continue
            todo.pop()
            if at not in found:
                found[at] = set()
                for before, begin in into.get(at, ()):
                    found[at] |= found[before] if begin else found[before] | {before}
        return found[seq]

    return {seq: of(seq) for seq in nodes}


def check_times(records, times, nodes, edges):
    """Nothing begins before what it depends on has ended, in virtual time."""
    span = {}
    for r in records:
        time = times.get((r['stream'], r['position'])) if r['position'] else None
        if time and r['seq'] in nodes and 'captured' not in r['flags']:
            span[r['seq']] = (time['start_ns'], time['start_ns'] + time['duration_ns'])
    before = ancestors(nodes, edges, lambda edge: edge['reason'] != 'unknown')
    count = 0
    for seq, (start, _) in span.items():
        for other in before[seq]:
            if other in span:
                count += 1
                assert span[other][1] <= start, (other, span[other], 'must end before', seq, span[seq])
    return count


def check_redundant(nodes, edges):
    commands = {seq for seq, node in nodes.items() if node['command']}
    every, needed = ancestors(nodes, edges), ancestors(nodes, edges, lambda edge: not edge['redundant'])
    for seq in nodes:
        assert every[seq] & commands == needed[seq] & commands, (seq, every[seq] ^ needed[seq])
    into = {}
    for edge in edges:
        if not edge['redundant']:
            into.setdefault(edge['to'], []).append(edge)
    count = 0

    def over(edge):
        return (needed[edge['from']] | (set() if edge['begin'] else {edge['from']})) & commands

    for to, list_ in into.items():
        for edge in list_:
            others = set()
            for other in list_:
                if other is not edge:
                    others |= over(other)
            mine = over(edge)
            if edge['reason'] in ('thread', 'stream') and not mine - others:
                continue  # the order of a thread; a wait before it may be for nothing; of a late record
            # Where calls of threads overlap, not all that is redundant is known to be.
            assert mine - others or len({node['thread'] for node in nodes.values()}) > 1, ('not needed', edge)
            count += 1
    return count


def check_summary(name, middle):
    """What is printed is of what was selected, as the rest is."""
    for options in ([], [f'--range={middle}:'], [f'--range=:{middle}', '--streams=1']):
        text, graph = tool('graph', *options, name), json.loads(tool('graph', '--json', *options, name))
        rows = {}
        for edge in graph['edges']:
            rows.setdefault(edge['reason'], [0, 0])[edge['redundant']] += 1
        assert text.startswith(f"{sum(node['command'] for node in graph['nodes'])} commands, "), (options, text)
        for reason, (needed, redundant) in rows.items():
            assert any(line.split() == [*reason.split(), str(needed), str(redundant)] for line in text.splitlines()), (options, reason, rows, text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pairs = needed = compared = 0
        for words in RUN:
            if not (PROGRAMS / words[0]).exists():
                continue
            name = f'{words[0]}.sbt'
            record(name, words)
            records, times = read(name)
            graph = json.loads(tool('graph', '--json', name))
            nodes = {node['seq']: node for node in graph['nodes']}
            edges = graph['edges']
            assert len(nodes) == len(graph['nodes']) and all(edge['from'] in nodes and edge['to'] in nodes for edge in edges)
            count, more = check_times(records, times, nodes, edges), check_redundant(nodes, edges)
            if len({node['thread'] for node in nodes.values()}) == 1:
                naive, before = Naive(records).ended, ancestors(nodes, edges)
                commands = {seq for seq, node in nodes.items() if node['command']}
                assert commands <= set(nodes) <= set(naive), set(naive) ^ set(nodes)
                for seq in nodes:
                    assert naive[seq] == before[seq] & commands, (seq, naive[seq] ^ (before[seq] & commands))
                compared += len(commands)
            print(f'{words[0]}: {len(nodes)} nodes, {len(edges)} edges, {count} pairs in order, {more} edges needed')
            if words == ['streams']:
                check_summary(name, sorted(nodes)[len(nodes) // 2])
            pairs += count
            needed += more
        assert pairs > 1000 and needed > 500 and compared > 500, (pairs, needed, compared)


main()
