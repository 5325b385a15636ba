#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith graph --memory`, `tracesmith stream`: programs are recorded on the software GPU, and the conflicts of their commands are computed again here,
byte for byte and each command against all earlier ones, from `tsview --json`. What is known to be over when a command begins comes from
the other edges, which tests/e2e/graph.py checks."""

import bisect
import functools
import json
import os
import pathlib
import struct
import subprocess
import tempfile

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
RUN = (['streams'], ['pipeline'], ['linked'], ['staging', '3', '60'], ['copies'], ['weave'], ['conflicts', 'random', '1', '200'],
       ['conflicts', 'random', '2', '200'], ['conflicts', 'random', '3', '400'], ['conflicts', 'stored'], ['conflicts', 'variable'])
REASONS = ('read after write', 'write after write', 'write after read')
DECLARED, OBSERVED, REACHABLE, UNKNOWN = range(4)  # the first two: each of the bytes
KINDS = ('declared', 'observed', 'reachable', 'unknown')


def tool(*words, status=0):
    done = subprocess.run([BIN / 'tracesmith', *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout[:2000], done.stderr)
    return done.stdout


def record(name, words):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)


class Access:
    def __init__(self, start, size, kind, reads, writes, in_call=False):
        self.start, self.end, self.kind, self.reads, self.writes, self.in_call = start, start + size, kind, reads, writes, in_call


class Commands:
    """Accesses of each record, by what the calls mean."""

    def __init__(self, records):
        self.live = {}  # start -> size
        self.freed = {}  # seq -> (start, end) of memory whose history ends there
        self.stored, self.variables, self.modules = {}, {}, {}
        self.accesses, self.unknown, self.records = {}, set(), {}
        for r in records:
            if 'failed' in r['flags'] or 'captured' in r['flags']:
                continue
            self.records[r['seq']] = r
            self.note(r)
            self.accesses.get(r['seq'], []).sort(key=lambda a: not a.reads)  # a write covers what reads are to find

    def holder(self, address):
        for start, size in self.live.items():
            if address and start <= address < start + size:
                return start, size
        return None

    def rest(self, address, reads, writes):
        held = self.holder(address)
        return [Access(address, held[0] + held[1] - address, REACHABLE, reads, writes)] if held else []

    def kernel(self, args):
        block, found, todo = bytes.fromhex(args['arguments']), {}, []
        for (word,) in struct.iter_unpack('<Q', block[:len(block) // 8 * 8]):
            held = self.holder(word)
            todo += [held] if held else []
            for start, (size, _) in self.variables.items():
                if start <= word < start + size:
                    found[start] = size
        for start, (size, module) in self.variables.items():
            if module == self.modules.get(args['f']):
                found[start] = size
        while todo:
            start, size = todo.pop()
            if start not in found:
                found[start] = size
                todo += filter(None, map(self.holder, self.stored.get(start, ())))
        return [Access(start, size, REACHABLE, True, True) for start, size in found.items()]

    def copy(self, args):
        def of(*names):
            return next((int(args[name], 0) for name in names if name in args), 0)

        size, sent = args.get('ByteCount', args.get('size')), args.get('payload', args.get('srcHost.bytes'))
        source, target, found = of('src', 'srcDevice', 'srcHost'), of('dst', 'dstDevice', 'dstHost'), []
        if 'dstPitch' in args:
            return self.rest(target, False, True)
        if source:
            carried = any(isinstance(value, dict) and value.get('size') for value in args.values())
            found.append(Access(source, size, DECLARED, True, False, carried and not self.holder(source)))
            assert not sent or carried == bool(sent['size'])
        variable = any(start <= target < start + span for start, (span, _) in self.variables.items())
        found.append(Access(target, size, DECLARED, False, True,
                            ('dstHost' in args or 'payload' in args) and not self.holder(target) and not variable))
        self.store(args, target)
        return found

    def store(self, args, target):
        held = self.holder(target)
        for value in args.values():
            if held and isinstance(value, dict) and 'bytes' in value and value['size'] == 8:
                to = self.holder(struct.unpack('<Q', bytes.fromhex(value['bytes'])[:8])[0])
                if to and to[0] != held[0]:
                    self.stored.setdefault(held[0], set()).add(to[0])

    def rows(self, args):
        found = []
        for side, reads in (('src', True), ('dst', False)):
            found += self.rest(int(args[f'pCopy.{side}Device'], 0), reads, not reads)
        for side in ('src', 'dst'):
            found += self.rest(int(args[f'pCopy.{side}Host'], 0), True, True)
        return found

    def note(self, r):
        args, call = r['args'], r['call']
        if call == 'cuModuleGetFunction':
            self.modules[args['hfunc']] = args['hmod']
        elif call.startswith('cuModuleGetGlobal'):
            self.variables[int(args['dptr'], 0)] = (args['bytes'], args['hmod'])
        elif r['kind'] in ('create', 'destroy') and r['api'] == 'cuda':
            self.allocation(r, args)
        elif call == 'host_write' and args['of_stream'] == 0xffffffff:
            held = {'held', 'device'} & set(r['flags'])
            self.accesses[r['seq']] = [Access(int(args['address'], 0), args['size'], REACHABLE if held else DECLARED, False, True)]
        elif r['kind'] == 'command' and r['position']:
            if 'Launch' in call and 'arguments' in args:
                self.accesses[r['seq']] = self.kernel(args)
            elif 'pCopy.srcXInBytes' in args:
                self.accesses[r['seq']] = self.rows(args)
            elif call.startswith(('cuMemcpy', 'cuMemset')):
                self.accesses[r['seq']] = self.copy(args)
            elif call.startswith('cuStreamWriteValue'):
                self.accesses[r['seq']] = [Access(int(args['addr'], 0), args['size'], DECLARED, False, True)]
            else:
                self.unknown.add(r['seq'])

    def allocation(self, r, args):
        address = next((int(args[name], 0) for name in ('dptr', 'pp', 'p', 'ptr') if name in args), 0)
        size = args.get('size', args.get('bytesize'))
        if not address:
            return
        if r['kind'] == 'destroy':
            size = self.live.pop(address, 0)
            self.stored.pop(address, None)
        else:
            self.live[address] = size
        self.freed[r['seq']] = (address, address + size)


def known_over(graph):
    """Commands that are over when a node begins, and when the host goes on behind it."""
    into = {}
    for edge in graph['edges']:
        if edge['reason'] not in REASONS:
            into.setdefault(edge['to'], []).append((edge['from'], edge['begin']))
    before = {}
    for node in sorted(graph['nodes'], key=lambda node: node['seq']):
        before[node['seq']] = set()
        for other, begin in into.get(node['seq'], ()):
            before[node['seq']] |= before[other] | (set() if begin else {other})
    # What the one thread knows behind each of its waits.
    taught = {edge['from']: edge['begin'] for edge in graph['edges'] if edge['reason'] == 'thread'}
    nodes = {node['seq']: node for node in graph['nodes']}
    waits = sorted({*taught, *(seq for seq, node in nodes.items() if not node['command'] and node['call'] != 'host_write')})
    known, after = set(), []
    for seq in waits:
        known = known | before[seq] | (set() if taught.get(seq) or not nodes[seq]['command'] else {seq})
        after.append(known)

    @functools.lru_cache(None)
    def of(seq):
        at = bisect.bisect_left(waits, seq)
        heard = after[at - 1] if at else set()
        return before[seq] | heard if seq in nodes and nodes[seq]['command'] else heard

    return of


def naive(commands, over):
    """(from, to, reason) -> [kind, unordered, bytes] of all conflicts but those with what may do anything."""
    found = {}
    cuts = sorted({edge for list_ in commands.accesses.values() for a in list_ for edge in (a.start, a.end)} |
                  {edge for ends in commands.freed.values() for edge in ends})
    for first, end in zip(cuts, cuts[1:]):
        history = []  # (seq, access, kinds that cover it)
        for seq in sorted({*commands.accesses, *commands.freed}):
            ends = commands.freed.get(seq)
            if ends and ends[0] <= first < ends[1]:
                history = []
            for a in commands.accesses.get(seq, ()):
                if not (a.start <= first and end <= a.end):
                    continue
                visit(commands, over, found, history, seq, a, end - first)
    return found


def ended(commands, over, seq, a, old_seq, old):
    """Whether an access was over when another one began."""
    r, before = commands.records[seq], commands.records[old_seq]
    return (before['call'] == 'host_write' or old.in_call or (a.in_call and a.reads) or
            (r['call'] == 'host_write' and 'held' in r['flags']) or old_seq in over(seq))


def visit(commands, over, found, history, seq, a, size):
    host = commands.records[seq]['call'] == 'host_write'
    for old_seq, old, covered in history:
        kind = max(old.kind, a.kind)
        both_host = host and a.kind <= OBSERVED and commands.records[old_seq]['call'] == 'host_write'
        if old_seq == seq or not (a.writes or old.writes) or min(covered, default=9) <= kind or both_host:
            continue
        reason = REASONS[0 if old.writes and a.reads else 1 if old.writes else 2]
        entry = found.setdefault((old_seq, seq, reason), [set(), not ended(commands, over, seq, a, old_seq, old), 0])
        entry[0].add(KINDS[kind])
        entry[2] += size
    if a.in_call and a.reads:
        return
    for old_seq, old, covered in history:
        if (a.writes or not old.writes) and (old_seq == seq or (a.writes and a.kind == REACHABLE) or
                                             ended(commands, over, seq, a, old_seq, old)):
            covered.add(a.kind)
    history.append((seq, a, set()))


class Slices:
    """What contributed to the bytes of a command, byte for byte: all earlier writes that no sure one has replaced."""

    def __init__(self, commands, over):
        self.commands, self.over = commands, over
        self.cuts = sorted({edge for list_ in commands.accesses.values() for a in list_ for edge in (a.start, a.end)} |
                           {edge for ends in commands.freed.values() for edge in ends})
        self.known = {}

    def parts(self, start, end):
        return range(bisect.bisect_left(self.cuts, start), bisect.bisect_left(self.cuts, end))

    def writers(self, seq, part):
        """Writes that a read of these bytes by a command may find."""
        found, first = [], self.cuts[part]
        for old_seq in sorted({*self.commands.accesses, *self.commands.freed}):
            if old_seq >= seq:
                break
            ends = self.commands.freed.get(old_seq)
            if ends and ends[0] <= first < ends[1]:
                found = []
            for a in self.commands.accesses.get(old_seq, ()):
                if a.writes and a.start <= first < a.end:
                    found = [(s, w) for s, w in found if a.kind > OBSERVED or not ended(self.commands, self.over, old_seq, a, s, w)]
                    found.append((old_seq, a))
        return found

    def of(self, seq):
        todo, seen, reached = [], set(), {seq}
        for a in self.commands.accesses.get(seq, ()):
            if a.reads or a.kind > OBSERVED:
                todo += [(seq, part) for part in self.parts(a.start, a.end)]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            if at not in self.known:
                self.known[at] = self.writers(*at)
            for writer, w in self.known[at]:
                if w.kind > OBSERVED:
                    todo.append((writer, at[1]))
                if writer not in reached:
                    reached.add(writer)
                    for a in self.commands.accesses[writer]:
                        todo += [(writer, part) for part in self.parts(a.start, a.end)] if a.reads else []
        return reached


def compare_slices(name, records, more_max=0.02):
    """The tool may say more: of many ranges that are asked for of what a command wrote it joins those near each other."""
    commands = Commands(records)
    slices = Slices(commands, known_over(json.loads(tool('graph', '--memory', '--json', name))))
    total = more = 0
    for seq in sorted(commands.accesses)[-60::3]:
        found = json.loads(tool('graph', '--json', f'--slice={seq}', name))
        got, expected = {row['seq'] for row in found['contributors']}, slices.of(seq)
        assert expected <= got and len(got) == len(found['contributors']), (name, seq, expected - got)
        assert sum(found['rests_on'].values()) == len(got) - 1, found['rests_on']
        total += len(expected)
        more += len(got - expected)
    assert more <= more_max * total, (name, more, total)
    return total, more


def compare(name, records, graph):
    commands = Commands(records)
    expected, got = naive(commands, known_over(graph)), {}
    for edge in graph['edges']:
        if edge['reason'] in REASONS and edge['access'] != 'unknown' and edge['array'] is None:
            entry = got.setdefault((edge['from'], edge['to'], edge['reason']), [set(), edge['unordered'], 0])
            assert edge['redundant'] == (not edge['unordered']) and entry[1] == edge['unordered'], edge
            entry[0].add(edge['access'])
            entry[2] += edge['size']
    for key, entry in expected.items():
        assert got.get(key) == entry or (key in got and is_whole(commands, key, got[key], entry)), (name, key, entry, got.get(key))
    for key in set(got) - set(expected):
        assert is_whole(commands, key, got[key], [{'reachable'}, got[key][1], 0]), (name, key, got[key])
    return len(expected), sum(entry[1] for entry in expected.values())


def is_whole(commands, key, got, expected):
    """Of two kernels that reach an allocation the edge is of all of it, also where something was written in between."""
    kernels = [any(a.kind == REACHABLE and a.reads and a.writes for a in commands.accesses[seq]) for seq in key[:2]]
    return all(kernels) and got[0] == expected[0] == {'reachable'} and got[1] == expected[1] and got[2] >= expected[2]


def read(name):
    return [json.loads(line) for line in tool('view', '--json', name).splitlines()][1:]


def unordered(name):
    graph = json.loads(tool('graph', '--memory', '--json', name))
    return [edge for edge in graph['edges'] if edge.get('unordered')]


def races():
    record('race.sbt', ['conflicts', 'race'])
    (edge,) = unordered('race.sbt')
    assert edge['access'] == 'declared' and edge['size'] == 200 and edge['reason'] == 'read after write', edge
    assert 'conflicts without order' in tool('graph', '--memory', 'race.sbt')
    assert 'color=red' in tool('graph', '--memory', '--dot', 'race.sbt')
    why = json.loads(tool('graph', '--memory', '--json', f'--why={edge["to"]}', 'race.sbt'))
    assert [row['from'] for row in why['conflicts']] == [edge['from']], why
    record('ordered.sbt', ['conflicts', 'ordered'])
    assert not unordered('ordered.sbt')
    graph = json.loads(tool('graph', '--memory', '--json', 'ordered.sbt'))
    assert [edge['size'] for edge in graph['edges'] if edge['reason'] in REASONS] == [200], graph
    record('stored.sbt', ['conflicts', 'stored'])
    assert any(edge['access'] == 'reachable' and edge['size'] == 8 for edge in unordered('stored.sbt'))
    record('variable.sbt', ['conflicts', 'variable'])
    assert len(unordered('variable.sbt')) == 1


def slices():
    """What `copies` reads back comes from two fills of one allocation, through a copy, and not from what these have replaced."""
    record('copies.sbt', ['copies'])
    records = read('copies.sbt')
    last = next(r for r in records if r['call'] == 'cuMemcpy')
    found = json.loads(tool('graph', '--json', f'--slice={last["seq"]}', 'copies.sbt'))
    calls = [row['call'] for row in found['contributors']]
    assert calls == ['cuMemcpy', 'cuMemcpyDtoD_v2', 'cuMemsetD16_v2', 'cuMemsetD16Async', 'cuMemsetD8Async'], found
    assert found['rests_on'] == {'declared': 4, 'observed': 0, 'reachable': 0, 'unknown': 0}, found
    assert [row['size'] for row in found['contributors']] == [None, 512, 100, 20, 3], found
    for words in (['conflicts', 'random', '5', '300'], ['conflicts', 'random', '6', '300'], ['staging', '5', '80'], ['copies']):
        record('slices.sbt', words)
        print(f'{" ".join(words)}: %u contributed, %u more are shown' % compare_slices('slices.sbt', read('slices.sbt')))


def unknown():
    """A function of the program may have read all that was written before it, and written anything."""
    record('function.sbt', ['conflicts', 'function'])
    seqs = [r['seq'] for r in read('function.sbt') if r['kind'] == 'command']
    found = json.loads(tool('graph', '--json', f'--slice={seqs[3]}', 'function.sbt'))
    assert {row['seq'] for row in found['contributors']} == set(seqs) and found['rests_on']['unknown'] == 3, found


def streams():
    """`tracesmith stream` has the accesses, the edges of the graph, the events and the code of each command."""
    for words in (['pipeline'], ['linked'], ['conflicts', 'random', '4', '200']):
        record('s.sbt', words)
        records = read('s.sbt')
        commands, graph = Commands(records), json.loads(tool('graph', '--json', 's.sbt'))
        seen, code = [], set()
        for number in sorted({r['stream'] for r in records if r['stream'] is not None and r['position'] and r['kind'] != 'sync'}):
            found = json.loads(tool('stream', '--json', '--code', str(number), 's.sbt'))
            positions = [command['position'] for command in found['commands']]
            assert positions == sorted(positions) and found['stream'] == number, found
            text = tool('stream', '--code', str(number), 's.sbt')
            assert ('.visible .entry' in text) == bool(found['code']), text
            assert all(f'{command["seq"]:8}  {command["position"]:8}' in text for command in found['commands']), text
            seen += [command['seq'] for command in found['commands']]
            code |= {module['text'] for module in found['code']}
            for command in found['commands']:
                same_command(command, commands, graph)
            assert all(module['hash'] in {command['code'] for command in found['commands']} for module in found['code']), found
        kinds = ('command', 'signal', 'wait')
        assert sorted(seen) == [r['seq'] for r in records if r['position'] and r['kind'] in kinds and 'failed' not in r['flags']]
        assert code and all('.visible .entry' in text for text in code), code
    assert 'has no commands' in subprocess.run([BIN / 'tracesmith', 'stream', '999', 's.sbt'], capture_output=True, text=True, check=False).stderr
    tool('stream', 'one', 's.sbt', status=2)


def same_command(command, commands, graph):
    seq = command['seq']
    r = commands.records[seq]
    assert (command['call'], command['kernel'], command['position']) == (r['call'], r['args'].get('name'), r['position'])
    assert command['signals'] == (int(str(r['args']['hEvent']).split('#')[-1]) if r['kind'] == 'signal' else None), (command, r)
    assert [(e['from'], e['reason'], e['event']) for e in command['waits']] == [
        (e['from'], e['reason'], e['event']) for e in graph['edges'] if e['to'] == seq], command
    expected = {(a.start, a.end - a.start, KINDS[a.kind], a.reads, a.writes) for a in commands.accesses.get(seq, ())}
    assert {(int(a['start'], 0), a['size'], a['access'], a['reads'], a['writes']) for a in command['accesses']} == expected, (command, expected)
    assert command['unknown'] == (seq in commands.unknown) and (command['code'] is not None) == ('arguments' in r['args']), command
    for a in command['accesses']:
        assert a['allocation'] is None or int(a['allocation'], 0) + a['offset'] == int(a['start'], 0), a


def hostile():
    """Sizes near 2^64, many allocations, many parts of one."""
    fill, copy = (next(r['seq'] for r in read('race.sbt') if r['call'].startswith(call)) for call in ('cuMemset', 'cuMemcpy'))

    def alter(number, slot, value):
        pathlib.Path('edited.sbt').unlink(missing_ok=True)
        subprocess.run([PROGRAMS / 'alter_trace', 'race.sbt', 'edited.sbt', 'slot', str(number), f'{slot}:{value}'], check=True)
        return [edge['size'] for edge in unordered('edited.sbt')]

    for size in (2**64 - 1, 2**64 - 12345, 2**63):
        assert alter(fill, 3, size) == [200, 200], size  # what the copy reads, and what it writes
        assert alter(copy, 2, size) == [12244], size  # what was filled behind the copy's begin
    assert alter(fill, 0, 2**64 - 1) == alter(copy, 1, 2**64 - 100) == []
    assert alter(fill, 0, 2**64 - 1) == []
    record('many.sbt', ['conflicts', 'many', '100000'])
    graph = json.loads(tool('graph', '--memory', '--json', 'many.sbt'))
    assert sum(edge['reason'] == REASONS[0] and not edge['unordered'] for edge in graph['edges']) == 100000
    record('parts.sbt', ['conflicts', 'parts', '10000'])
    edges = unordered('parts.sbt')
    *kernels, whole, _, part = sorted(edge['seq'] for edge in json.loads(tool('graph', '--json', 'parts.sbt'))['nodes'] if edge['command'])
    # Neighbours were joined, so that nothing is sure of their gaps; a write of all of it ends that, and what kernels did there.
    assert {edge['access'] for edge in edges if edge['to'] < whole} == {'reachable'}
    assert any(edge['reason'] == REASONS[1] and edge['to'] < whole and edge['size'] == 4 for edge in edges)
    assert [edge['access'] for edge in edges if edge['from'] == whole and edge['to'] == part] == ['declared'], edges[-4:]
    graph = json.loads(tool('graph', '--memory', '--json', 'parts.sbt', f'--range={kernels[-1]}:'))
    assert not any(edge['from'] == kernels[-1] and edge['to'] == whole + 1 and edge['reason'] in REASONS for edge in graph['edges'])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        count = racing = 0
        for words in RUN:
            record('t.sbt', words)
            expected, unordered_count = compare(' '.join(words), read('t.sbt'), json.loads(tool('graph', '--memory', '--json', 't.sbt')))
            print(f'{" ".join(words)}: {expected} conflicts, {unordered_count} without order')
            count += expected
            racing += unordered_count
        assert count > 2000 and racing > 200, (count, racing)
        races()
        slices()
        unknown()
        streams()
        hostile()


if __name__ == '__main__':
    main()
