#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edges of the dependency graph are needed, or nothing is: from small programs each wait is left out in turn that alone orders two commands
which access the same memory, and these are sent the other way round. In most cases other bytes come out; where a wait orders nothing, in none. And a
conflict that is ordered keeps its order in each schedule that the graph allows."""

import json
import os
import pathlib
import random
import tempfile

from critical import pairs_of, without
from memory_edges import Commands, known_over
from schedule_replay import Trace, record, tool

# One command at a time, that which was sent first: so the order of the schedule is that in which they run.
SERIAL = {'TS_EMU_STREAMS': 'serial', 'TS_EMU_SCHEDULE': 'fifo'}
ORDERS = 12
FIRST = 3 if os.environ.get('TS_TEST_ALL') else 1  # pairs of a wait that are tried
SEEDS = range(2, 60 if os.environ.get('TS_TEST_ALL') else 6, 2)  # the copies of odd ones wait, which the graph does not know


def spread(seed, streams, machine_name):
    """A program on several streams that has just the waits that its memory asks for."""
    record('one.sbt', ['spread', str(seed)])
    found = json.loads(tool('whatif', '--json', '--times', f'--streams={streams}', 'one.sbt'))
    order = Trace('one.sbt').order()
    stream = {c['seq']: c['stream'] for c in found['commands']}
    places = ''.join(chr(ord('a') + stream[seq]) for seq in order)
    waits = ','.join(f'{order.index(w["from"])}:{order.index(w["to"])}' for w in found['waits'])
    return record(machine_name, ['spread', str(seed), str(streams), places, waits])


class Needs:
    def __init__(self, trace):
        self.trace = trace
        self.graph = json.loads(tool('graph', '--memory', '--json', trace.name))
        self.commands = Commands(trace.records)
        self.over = known_over(self.graph)

    def closed(self, less, seq):
        """What has to be sent before a command without a wait: also what refers to an event before it is recorded again."""
        todo, found = [seq], set()
        while todo:
            at = todo.pop()
            if at in found:
                continue
            found.add(at)
            todo += less(at) - found
            r = self.trace.by_seq[at]
            if r['kind'] == 'signal':
                todo += [u['seq'] for u in self.trace.commands if u['seq'] < at and u['args'].get('hEvent') == r['args']['hEvent']]
        return found

    def reversed(self, wait, less, x, y):
        """The schedule without the wait in which y is sent before x; None: it cannot be."""
        first = self.closed(less, y)
        if x in first:
            return None
        order = [seq for seq in self.trace.order() if seq != wait]
        return self.trace.lines([s for s in order if s in first] + [s for s in order if s not in first]) + f'drop {wait}\n'


def check_waits(trace, seen):
    """Leaves each wait out, with each of the first pairs that it orders the other way round."""
    needs = Needs(trace)
    waits = [r['seq'] for r in trace.records if r['kind'] in ('wait', 'sync') and not {'failed', 'captured'} & set(r['flags']) and 'Query' not in r['call']]
    for wait in waits:
        less = known_over(without(needs.graph, wait))
        pairs = pairs_of(needs.commands, needs.over, less, wait)
        for kind in pairs:
            texts = [t for t in (needs.reversed(wait, less, x, y) for x, y in sorted(pairs[kind])[:FIRST]) if t]
            for text in texts:
                result, done = trace.replay(text, env=SERIAL)
                verdict = result.get('verdict', 'refused')
                assert verdict in ('different', 'same', 'cannot_tell', 'refused'), (wait, text, result, done)
                assert verdict != 'refused' or 'lies between them' in done.stderr, (wait, text, done)
                seen[kind, verdict] = seen.get((kind, verdict), 0) + 1
        if not pairs and trace.by_seq[wait]['kind'] == 'wait':
            check_idle(trace, wait, less, needs)
            seen['nothing'] = seen.get('nothing', 0) + 1


def check_idle(trace, wait, less, needs):
    """A stream's wait that orders no conflict: what comes behind it on its stream may be sent before what it was for."""
    stream = trace.by_seq[wait]['stream']
    behind = next((r['seq'] for r in trace.commands if r['stream'] == stream and r['seq'] > wait), None)
    for x in sorted(needs.over(behind) - less(behind)) if behind else ():
        text = needs.reversed(wait, less, x, behind)
        if text:
            result, done = trace.replay(text, env=SERIAL)
            assert result.get('verdict', 'refused') == 'same' or 'lies between them' in done.stderr, (wait, x, behind, text, result, done.stderr)


def check_orders(trace):
    """Conflicts that are ordered have their order in all schedules that keep the other edges; these give the same bytes."""
    graph = json.loads(tool('graph', '--memory', '--json', trace.name))
    ordered = [e for e in graph['edges'] if e['reason'].startswith(('read after', 'write after')) and not e['unordered']]
    count = 0
    for seed in range(ORDERS):
        order = trace.random_order(seed)
        place = {seq: i for i, seq in enumerate(order)}
        for e in ordered:
            if e['from'] in place and e['to'] in place:
                assert place[e['from']] < place[e['to']], (trace.name, e, seed)
                count += 1
        if seed % 4 == 0:
            result, done = trace.replay(trace.lines(order), env=SERIAL)
            assert result.get('verdict') == 'same', (seed, order, result, done.stderr)
    return count


def main():
    chance = random.Random(int(os.environ.get('TEST_SEED', '1')))
    seen, ordered = {}, 0
    for seed in SEEDS:
        trace = spread(2 * chance.randrange(1, 10000) if 'TEST_SEED' in os.environ else seed, 2 + seed % 3, 't.sbt')
        assert trace.verdict(trace.lines(trace.order()), env=SERIAL) == 'same'
        check_waits(trace, seen)
        ordered += check_orders(trace)
    for words in (['weave', '3', '40', 'e'], ['weave', '4', '40', 'ew'], ['reorders', 'events'], ['reorders', 'host'], ['reorders', 'upload'], ['pipeline', '2']):
        trace = record('t.sbt', words)
        check_waits(trace, seen)
        ordered += check_orders(trace)
    print(seen, ordered, 'ordered pairs')
    needed = {kind: {v: seen.get((kind, v), 0) for v in ('different', 'cannot_tell', 'same')} for kind in ('declared', 'reachable')}
    for kind, counts in needed.items():
        assert counts['different'] + counts['cannot_tell'] > counts['same'], (kind, counts)
    assert needed['declared']['different'] > 5 and needed['reachable']['different'] > 10 and seen.get('nothing') and ordered > 1000, (needed, ordered)


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
