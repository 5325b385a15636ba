#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TS_ACCESSES: which bytes kernels and launched graphs read and write, as the software GPU sees it. The same is computed here from the
arguments, by what each kernel is known to do, and with it the conflicts, byte for byte, as in memory_edges.py. Exact accesses are needed or
nothing is: where they conflict without a wait, another order gives other bytes."""

import json
import os
import struct
import subprocess
import tempfile

import critical
import memory_edges
import needed_edges
import spread
from memory_edges import CAPTURE, OBSERVED, PROGRAMS, Access, Commands, compare, compare_slices, read, record, same_command, tool

READ, WRITTEN = 1, 2
RUN = (['conflicts', 'random', '1', '200'], ['conflicts', 'random', '2', '200'], ['conflicts', 'random', '3', '400'], ['conflicts', 'stored'],
       ['conflicts', 'race'], ['streams'], ['weave'], ['pipeline'], ['spread', '4', '3', 'abcabcabcaabbcc'], ['copies'])
KERNELS = {  # name -> what the arguments are, and what the kernel does to its 4 byte elements
    'fill': ('IIQ', lambda n, value, out: [(out, n, WRITTEN)]),
    'copy': ('IQQ', lambda n, source, out: [(source, n, READ), (out, n, WRITTEN)]),
    'mix': ('IIQ', lambda n, rounds, data: [(data, n, READ | WRITTEN)]),
    'saxpy': ('IfQQ', lambda n, a, x, y: [(x, n, READ), (y, n, READ | WRITTEN)]),
    'sum_ordered': ('IQQ', lambda n, source, out: [(source, n, READ), (out, 1, WRITTEN)]),
    'sum_atomic': ('IQQ', lambda n, source, out: [(source, n, READ), (out, min(n, 1), READ | WRITTEN)]),
    'add': ('QQ', lambda source, to, threads: [(source, threads, READ), (to, threads, READ | WRITTEN)]),
    'nothing': ('', lambda: []),
}


def decode(layout, block):
    values, at = [], 0
    for letter in layout:
        size = struct.calcsize(letter)
        at = (at + size - 1) // size * size
        values += struct.unpack_from(f'<{letter}', block, at)
        at += size
    return values


def united(touched):
    """Ranges of bytes that were touched alike."""
    cuts = sorted({edge for start, end, _ in touched for edge in (start, end)})
    found = []
    for first, end in zip(cuts, cuts[1:]):
        bits = 0
        for start, stop, how in touched:
            bits |= how if start <= first < stop else 0
        if found and found[-1][1] == first and found[-1][2] == bits:
            found[-1] = (found[-1][0], end, bits)
        elif bits:
            found.append((first, end, bits))
    return found


def accesses(touched):
    return [Access(start, end - start, OBSERVED, bool(bits & READ), bool(bits & WRITTEN)) for start, end, bits in united(touched)]


def touched_by(args):
    layout, does = KERNELS[args['name']]
    values = decode(layout, bytes.fromhex(args['arguments'])) + ([args['blockDimX']] if args['name'] == 'add' else [])
    return [(start, start + 4 * count, bits) for start, count, bits in does(*values)]


def ranges(text):
    return [struct.unpack_from('<QQQ', bytes.fromhex(text), at) for at in range(0, len(text) // 2, 24)]


class Observed(Commands):
    def __init__(self, records):
        self.seen = {(r['args']['of_stream'], r['args']['of_position']): ranges(r['args']['ranges']) for r in records if r['call'] == 'accesses'}
        super().__init__(records)

    def note(self, r):
        if not r['call'].startswith('cuGraphLaunch'):
            super().note(r)
        elif (r['stream'], r['position']) in self.seen:  # graphs() compares these with the nodes
            self.accesses[r['seq']] = accesses([(start, start + size, bits) for start, size, bits in self.seen[r['stream'], r['position']]])
        else:
            self.unknown.add(r['seq'])

    def kernel(self, args):
        return accesses(touched_by(args))

    def copy(self, args):
        if 'dstPitch' not in args:
            return super().copy(args)
        size, start = args['Width'] * next(n for name, n in (('uc', 1), ('us', 2), ('ui', 4)) if name in args), int(args['dstDevice'], 0)
        return accesses([(start + y * args['dstPitch'], start + y * args['dstPitch'] + size, WRITTEN) for y in range(args['Height'])])

    def rows(self, args):
        touched = []
        for side, bits in (('src', READ), ('dst', WRITTEN)):
            of = {name: args.get(f'pCopy.{side}{name}', 0) for name in ('Y', 'Z', 'Pitch', 'Height', 'XInBytes')}
            start = (int(args[f'pCopy.{side}Device'], 0) or int(args[f'pCopy.{side}Host'], 0)) + of['XInBytes']
            rows = [start + (z * of['Height'] + y) * of['Pitch'] for z in range(of['Z'], of['Z'] + args.get('pCopy.Depth', 1))
                    for y in range(of['Y'], of['Y'] + args['pCopy.Height'])]
            touched += [(row, row + args['pCopy.WidthInBytes'], bits) for row in rows if self.holder(row)]
        return accesses(touched)


def conflicts():
    for words in RUN:
        record('o.sbt', words)
        records = read('o.sbt')
        graph = json.loads(tool('graph', '--memory', '--json', 'o.sbt'))
        kernels = [r for r in records if 'arguments' in r['args'] and 'captured' not in r['flags']]
        pairs, unordered = compare('o.sbt', records, graph)
        edges = [edge for edge in graph['edges'] if edge.get('access') == 'observed']
        print(f'{" ".join(words)}: {len(kernels)} kernels, {pairs} conflicts, {unordered} without order, {len(edges)} edges by what was seen')
        assert kernels or words[0] in ('copies', 'conflicts'), words
        assert not any(edge.get('access') == 'unknown' for edge in graph['edges']), words
        streams(records)
    assert pairs


def streams(records):
    commands, graph = Observed(records), json.loads(tool('graph', '--json', 'o.sbt'))
    for number in {r['stream'] for r in records if r['stream'] is not None and r['position'] and r['kind'] != 'sync'}:
        for command in json.loads(tool('stream', '--json', str(number), 'o.sbt'))['commands']:
            same_command({**command, 'code': command['code']}, commands, graph)


def node_accesses(commands, r):
    """What a captured call will access, None: a function of the program, or what is not modelled here."""
    if 'arguments' in r['args']:
        return touched_by(r['args'])
    if r['kind'] in ('signal', 'wait') or r['call'] == 'cuEventRecordWithFlags':
        return []
    if not r['call'].startswith(('cuMemcpy', 'cuMemset')):
        return None
    found = commands.rows(r['args']) if 'pCopy.srcXInBytes' in r['args'] else commands.copy(r['args'])
    return [(a.start, a.end, (READ if a.reads else 0) | (WRITTEN if a.writes else 0)) for a in found]


def graphs():
    """A launch of a graph has the accesses of its nodes: here of the captured calls. One with a function of the program has none."""
    checked = unknown = 0
    for words in (['captures'], ['weave', '5', '60', 'g'], ['weave', '6', '60', 'g']):
        record('g.sbt', words)
        records = read('g.sbt')
        commands, seen = Observed(records), {(r['args']['of_stream'], r['args']['of_position']): r['args']['ranges'] for r in records if r['call'] == 'accesses'}
        captured, graphs_, execs = [], {}, {}
        for r in records:
            if r['call'].startswith('cuStreamBeginCapture'):
                captured = []
            elif 'captured' in r['flags']:
                captured.append(node_accesses(commands, r))
            elif r['call'] == 'cuStreamEndCapture':
                graphs_[r['args']['phGraph']] = captured
            elif r['call'].startswith('cuGraphInstantiate') and r['args']['hGraph'] in graphs_:
                execs[r['args']['phGraphExec']] = graphs_[r['args']['hGraph']]
            elif r['call'].startswith('cuGraphExec') and 'hGraphExec' in r['args']:
                execs.pop(r['args']['hGraphExec'], None)  # it is another one from here on
            elif r['call'].startswith('cuGraphLaunch') and r['args']['hGraph'] in execs:
                nodes = execs[r['args']['hGraph']]
                if None in nodes:
                    unknown += 1
                    continue
                wanted = united([one for node in nodes for one in node])
                got = united([(start, start + size, bits) for start, size, bits in ranges(seen[r['stream'], r['position']])])
                assert got == wanted, (words, r, got, wanted)
                checked += 1
    print(f'{checked} launches of captured graphs, {unknown} with functions of the program')
    assert checked > 10 and unknown


def without():
    """The records come with the setting alone, and with it alone no times do."""
    os.environ['TS_ACCESSES'] = '0'
    record('w.sbt', ['streams'])
    assert not any(r['call'] in ('accesses', 'gpu_time') for r in read('w.sbt'))
    os.environ['TS_ACCESSES'] = '1'
    record('w.sbt', ['streams'])
    calls = {r['call'] for r in read('w.sbt')}
    assert 'accesses' in calls and 'gpu_time' not in calls, calls
    record('w.sbt', ['fails'])  # a kernel that fails: what it has accessed is not known


def virtual():
    """Virtual times are the same with and without."""
    found = []
    for setting in ('0', '1'):
        environment = {**os.environ, 'TS_ACCESSES': setting, 'TS_EMU_TIME': 'virtual', 'TS_GPU_TIME': '1', 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': 'v.sbt',
                       'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
        subprocess.run([PROGRAMS / 'streams'], env=environment, stdout=subprocess.DEVNULL, check=True)
        found.append(sorted((r['args']['of_stream'], r['args']['of_position'], r['args']['start_ns'], r['args']['duration_ns'])
                            for r in read('v.sbt') if r['call'] == 'gpu_time'))
    assert found[0] == found[1] and found[0]


def uses():
    """`critical --memory`, `whatif --streams`: what is made of observed accesses."""
    seen = {}
    for words in (['reorders', 'events'], ['streams'], ['pipeline'], ['conflicts', 'random', '11', '120'], ['conflicts', 'random', '12', '120']):
        critical.record('u.sbt', words)
        critical.check_uses('u.sbt', critical.critical('u.sbt', '--memory'), seen)
    print('waits by what needs them:', seen)
    assert seen.get('observed') and not seen.get('reachable'), seen
    for seed in (3, 4, 5):
        digest = spread.record('u.sbt', ['spread', str(seed)], spread.MACHINES[0])
        found = spread.check_run(seed, 'u.sbt', 3, spread.MACHINES[0], digest)
        assert found['observed_count'] and not found['reachable_count'] and not found['unknown_count'], found


def needed():
    """Without a wait that observed accesses alone need, the other order gives other bytes."""
    seen = {}
    for seed in (2, 4, 6):
        needed_edges.check_waits(needed_edges.spread(seed, 3, 'n.sbt'), seen)
    print('waits that were left out:', seen)
    assert seen.get(('observed', 'different'), 0) > 5 and not any(kind == 'reachable' for kind, *_ in seen), seen
    assert seen['observed', 'different'] > seen.get(('observed', 'same'), 0), seen  # of bytes that nobody reads the order does not matter


def arrays():
    """Kernels meet the copies to arrays that no argument of theirs names."""
    record('a.sbt', ['bindless'])
    graph = json.loads(tool('graph', '--memory', '--json', 'a.sbt'))
    nodes = {node['seq']: node for node in graph['nodes']}
    met = {nodes[edge['to']]['kernel'] for edge in graph['edges']
           if edge.get('unordered') and edge['reason'] == 'read after write' and nodes[edge['from']]['call'].startswith('cuMemcpy2DAsync')}
    assert met == {'by_memory', 'by_reference', 'beside'}, met


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for module in (memory_edges, critical, spread, needed_edges):
        module.Commands = Observed
    os.environ['TS_ACCESSES'] = '1'
    conflicts()
    graphs()
    arrays()
    for words in (['conflicts', 'random', '5', '300'], ['conflicts', 'random', '6', '300'], ['copies']):
        record('s.sbt', words)
        print(f'{" ".join(words)}: %u contributed, %u more are shown' % compare_slices('s.sbt', read('s.sbt'), 0.5))
    uses()
    needed()
    without()
    virtual()
