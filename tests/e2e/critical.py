#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single waits in `tracesmith critical`: what each costs is what `tracesmith whatif` says; whether something needs it is computed again
here, each pair of commands that it orders alone, from `tsview --json` and the other edges of the graph. And copies that no kernel overlapped."""

import json
import os
import pathlib
import subprocess
import tempfile

import memory_edges
from memory_edges import CAPTURE, KINDS, PROGRAMS, UNKNOWN, Commands, known_over, read, tool

LATENCY = 2000
RUN = (['reorders', 'events'], ['reorders', 'host'], ['reorders', 'upload'], ['reorders', 'function'], ['reorders', 'mapped'], ['streams'], ['pipeline'],
       ['weave', '3', '60', 'e'], ['weave', '3', '60', 'ew'], ['conflicts', 'random', '11', '120'], ['conflicts', 'random', '12', '120'], ['conflicts', 'random', '13', '120'])


def record(name, words):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_EMU_TIME': 'virtual', 'TS_GPU_TIME': '1',
                   'TS_EMU_MACHINE': f'launch_latency_ns={LATENCY},device_mbps=100,host_to_device_mbps=90', 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)


def critical(name, *options):
    return json.loads(tool('critical', '--json', *options, name))


def without(graph, seq):
    """The graph without what the wait was for."""
    return {**graph, 'edges': [e for e in graph['edges'] if e['to'] != seq or e['reason'] not in ('host', 'event', 'default stream')]}


def conflict(commands, x, y):
    """How sure it is that x conflicts with y, which came later; None: they do not."""
    if x in commands.unknown or y in commands.unknown:
        return UNKNOWN if commands.records[x]['position'] and commands.records[y]['position'] else None
    found = []
    for a in commands.accesses.get(x, ()):
        for b in commands.accesses.get(y, ()):
            first = max(a.start, b.start)
            freed = any(x < seq < y and start <= first < end for seq, (start, end) in commands.freed.items())
            if first < min(a.end, b.end) and (a.writes or b.writes) and not a.in_call and not (b.in_call and b.reads) and not freed:
                found.append(max(a.kind, b.kind))
    return min(found, default=None)


def pairs_of(commands, over, less, seq):
    """Pairs of commands that conflict and that the wait alone puts into an order, by how sure they are."""
    pairs, accessing = {}, {*commands.accesses, *commands.unknown}
    for y in sorted(n for n in accessing if n > seq):
        if 'held' in commands.records[y]['flags']:
            continue
        for x in over(y) - less(y):
            kind = conflict(commands, x, y) if x in accessing else None
            if kind is not None:
                pairs.setdefault(KINDS[kind], set()).add((x, y))
    return pairs


def use_of(commands, readbacks, over, less, seq):
    """What needs the wait: its kind, and all pairs that say so."""
    pairs, accessing = pairs_of(commands, over, less, seq), {*commands.accesses, *commands.unknown}
    results = {(x, r) for x, r in readbacks if r > seq and x in accessing and x in over(r) and x not in less(r)}
    if results:
        return 'result', results
    kind = next((k for k in KINDS if k in pairs), 'nothing')
    return kind, pairs.get(kind)


def check_uses(name, answer, seen):
    records = read(name)
    commands, graph = Commands(records), json.loads(tool('graph', '--memory', '--json', name))
    places = {(r['stream'], r['position']): r['seq'] for r in records
              if r['position'] and r['kind'] in ('command', 'signal', 'wait') and not {'failed', 'captured'} & set(r['flags'])}
    readbacks = [(places.get((r['args']['of_stream'], r['args']['of_position'])), r['seq']) for r in records if r['call'] == 'readback']
    over = known_over(graph)
    kinds = {r['seq']: r['kind'] for r in records}
    for row in answer['waits']:
        if kinds[row['seq']] not in ('sync', 'wait'):
            # A copy that waits: the program has its result; of others nothing is known.
            assert row['from'] == row['seq'] if row['needed_by'] == 'result' else row['needed_by'] != 'nothing', (name, row)
            seen['copies'] = seen.get('copies', 0) + 1
            continue
        kind, pairs = use_of(commands, readbacks, over, known_over(without(graph, row['seq'])), row['seq'])
        assert row['needed_by'] == kind, (name, row, kind, sorted(pairs or ())[:5])
        assert (row['from'], row['to']) in pairs if pairs else row['from'] is row['to'] is None, (name, row, pairs)
        if pairs and kind != 'result':
            assert row['to'] == min(y for _, y in pairs), (name, row, sorted(pairs)[:5])
        seen[kind] = seen.get(kind, 0) + 1


def check_gains(name, answer):
    waits = answer['waits']
    assert [(-r['gain_ns'], -r['waited_ns']) for r in waits] == sorted((-r['gain_ns'], -r['waited_ns']) for r in waits), waits
    assert len(waits) == min(answer['wait_count'], 64), (len(waits), answer['wait_count'])
    for row in waits:
        changed = json.loads(tool('whatif', '--json', f'--drop-wait={row["seq"]}', name))
        assert row['gain_ns'] == max(0, changed['simulated_ns'] - changed['changed_ns']) and row['waited_ns'], (name, row, changed)
    return sum(row['gain_ns'] > 0 for row in waits)


def check_stacks(name, answer):
    stacks = {s['seq']: s for s in answer['stacks']}
    rows = answer['waits'] + [{'seq': r['longest_seq']} for r in answer['critical_path'] + answer['devices'][0]['idle']]
    having = {r['seq'] for r in read(name) if r['stack']}  # a recording keeps those of commands
    assert {r['seq'] for r in rows} & having == set(stacks) and stacks, (name, rows, stacks.keys())
    for stack in stacks.values():
        assert any(frame.startswith('main at ') for frame in stack['frames']), stack
    assert ' main at ' in tool('critical', '--stacks', name).split('\nstacks\n')[1]
    assert tool('critical', '--stacks', '--top=1', name).count(' main at ') <= 3
    assert ' main at ' not in tool('critical', name)
    few, every = (tool('critical', '--slack', top, name) for top in ('--top=1', '--top=0'))
    assert '--top=0 shows all' in few and '--top=0 shows all' not in every and len(every.splitlines()) > len(few.splitlines())


def check_copies(name, answer):
    """Each boundary of times is looked at."""
    commands = json.loads(tool('whatif', '--json', '--times', name))['commands']
    copies = [(c['start_ns'], c['end_ns'], c['seq']) for c in commands if c['call'].startswith('cuMemcpy')]
    kernels = [c for c in commands if c['call'].startswith('cuLaunchKernel')]
    cuts = sorted({t for start, end, _ in copies for t in (start, end)} |
                  {t for k in kernels for t in (k['sent_ns'] + LATENCY, k['start_ns'], k['end_ns'])})
    total, longest, since = 0, 0, None
    for begin, end in zip(cuts, cuts[1:] + [cuts[-1]]):
        alone = (any(a <= begin and end <= b for a, b, _ in copies) and not any(k['start_ns'] <= begin and end <= k['end_ns'] for k in kernels) and
                 any(k['sent_ns'] + LATENCY <= begin and end <= k['start_ns'] for k in kernels)) and end > begin
        total += (end - begin) * alone
        since = (begin if since is None else since) if alone else None
        longest = max(longest, end - since if alone else 0)
    device = answer['devices'][0]
    assert (device['copies_alone_ns'], device['copies_alone_longest_ns']) == (total, longest), (name, device, total, longest)
    if total:
        seq = device['copies_alone_longest_seq']
        assert seq in {s for _, _, s in copies}, device
        assert f'record {seq}, ' in next(line for line in tool('critical', name).splitlines() if line.startswith('copies ran')), name
    return total > 0


def check_written():
    """What the program wrote is recorded behind the second wait: that it did so behind the first one, nobody knows."""
    record('written.sbt', ['conflicts', 'written'])
    first, second, *_ = [r['seq'] for r in read('written.sbt') if r['kind'] == 'sync']
    needed = {r['seq']: r['needed_by'] for r in critical('written.sbt', '--memory')['waits']}
    assert needed[first] == 'not known' and needed.get(second, 'nothing') == 'nothing', (first, second, needed)


def main():
    check_written()
    seen, gaining, alone = {}, 0, 0
    for words in RUN:
        record('t.sbt', words)
        answer = critical('t.sbt', '--memory')
        check_uses('t.sbt', answer, seen)
        gaining += check_gains('t.sbt', answer)
        check_stacks('t.sbt', answer)
        if words[0] not in ('weave', 'streams') and words[1:] != ['function']:
            alone += check_copies('t.sbt', answer)
        plain = critical('t.sbt')
        assert 'needed_by' not in plain['waits'][0] and [r['seq'] for r in plain['waits']] == [r['seq'] for r in answer['waits']]
    print(seen, gaining, alone)
    assert all(seen.get(kind) for kind in ('nothing', 'copies', 'result', *KINDS) if kind != 'observed'), seen  # observed.py has these
    assert gaining > 20 and alone > 1, (gaining, alone)


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
