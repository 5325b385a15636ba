#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith whatif --order`: programs that send their work in a bad order get a better one; others are said to have none. Each order that is
found keeps every edge of the dependency graph, with memory's, and is carried out by `tsreplay --schedule`: the same bytes come out, at
the times that were predicted, to the nanosecond."""

import json
import os
import pathlib
import random
import tempfile

from virtual import BIN, EMU, read, record, run, tool

MACHINES = ('block_slots=64', 'block_slots=2,instruction_ps=5000', 'block_slots=8,call_ns=100')
ROUNDS = 12 if os.environ.get('TS_TEST_ALL') else 3


def search(name, *options):
    done = tool('whatif', '--order', '--json', '--times', '--schedule-out=s.txt', *options, name)
    found = json.loads(done.stdout)
    better = found['changed_ns'] < found['simulated_ns'] if not options else True
    assert found['moved_count'] == 0 or better, (name, found)
    said = 'are made in another place' if found['moved_count'] else 'no order is better'
    assert said in done.stderr and found['tried_count'] <= 384, (found, done.stderr)
    if not found['moved_count'] and not options:
        assert found['changed_ns'] == found['simulated_ns'], (name, found)
    return found


def times_of(answer):
    return {c['seq']: (c['start_ns'], c['end_ns']) for c in answer['commands']}


def check_edges(name, found):
    """The order keeps what the graph says, and commands that conflict run in the order in which they ran."""
    lines = [line.split() for line in pathlib.Path('s.txt').read_text(encoding='utf-8').splitlines()[1:]]
    place = {int(words[1]): i for i, words in enumerate(lines)}
    graph = json.loads(tool('graph', '--memory', '--json', name).stdout)
    before = times_of(json.loads(tool('whatif', '--json', '--times', name).stdout))
    after, count = times_of(found), 0
    for edge in graph['edges']:
        if edge['from'] in place and edge['to'] in place:
            assert place[edge['from']] < place[edge['to']], (name, edge)
            count += 1
        if edge['reason'].startswith(('read after', 'write after')) and edge['to'] in before and edge['from'] in before:
            first, second = sorted((edge['from'], edge['to']), key=lambda seq: (before[seq], seq))
            assert after[first][0] <= after[second][0], (name, edge, before, after)
            assert before[first][1] > before[second][0] or after[first][1] <= after[second][0], (name, edge, before, after)
    return count, [int(words[1]) for words in lines] != sorted(place)


def check_replay(name, words, found, machine):
    records = read(name)
    pathlib.Path('timed.sbt').unlink(missing_ok=True)
    done = run([BIN / 'tracesmith', 'replay', '--device=emu', '--json', '--timeout=20', '--schedule=s.txt', '--keep-going', '--time=1:0', '-o', 'timed.sbt',
                name], {'TS_EMU_TIME': 'virtual', 'TS_EMU_MACHINE': machine, 'LD_LIBRARY_PATH': str(EMU)}, (0, 1, 2, 3))
    result = json.loads(done.stdout)
    # The bytes of this one depend on when the processor runs what, in any order.
    assert result['verdict'] == 'same' or words[0] == 'scheduled', (name, words, machine, result, done.stderr)
    places = {r['seq']: (r['stream'], r['position']) for r in records}
    predicted = {places[c['seq']]: (c['start_ns'], c['end_ns']) for c in found['commands']}
    times = [r['args'] for r in read('timed.sbt') if r['call'] == 'gpu_time']
    for t in times:
        actual = (t['start_ns'], t['start_ns'] + t['duration_ns'])
        assert predicted[t['of_stream'], t['of_position']] == actual, (name, t, predicted[t['of_stream'], t['of_position']])
    assert len(times) > 3


def check(words, machine):
    record('t.sbt', words, machine)
    found = search('t.sbt')
    edges, changed = check_edges('t.sbt', found)
    assert edges and changed == (found['moved_count'] > 0), (words, found, changed)
    if changed:
        check_replay('t.sbt', words, found, machine)
    return found


def check_badly():
    for way, gain in (('last', True), ('copies', True), ('event', True), ('again', True), ('default', True), ('same', False), ('waits', False)):
        for machine in MACHINES[:2]:
            found = check(['badly', way], machine)
            assert (found['moved_count'] > 0) == gain, (way, machine, found)
    # Calls that take no time are all at one time: no order of them is better.
    assert not check(['badly', 'copies'], 'call_ns=0')['moved_count']
    # The long kernel goes first, and saves the calls of the others.
    record('last.sbt', ['badly', 'last'], 'block_slots=64,call_ns=1000')
    found = search('last.sbt')
    assert found['simulated_ns'] - found['changed_ns'] == 5000, found
    kernels = [r['seq'] for r in read('last.sbt') if r['call'] == 'cuLaunchKernel']
    sent = [int(line.split()[1]) for line in pathlib.Path('s.txt').read_text(encoding='utf-8').splitlines()[1:]]
    assert min(kernels, key=sent.index) == kernels[-1], (kernels, sent)


def check_options():
    record('t.sbt', ['badly', 'copies'], MACHINES[0])
    done = run([BIN / 'tracesmith', 'whatif', '--order', '--fuse', 't.sbt'], {}, (2,))
    assert '--order cannot go with --fuse' in done.stderr, done
    # With other changes, after them: two engines take the copies apart.
    alone = json.loads(tool('whatif', '--json', '--machine=host_to_device_engines=6', 't.sbt').stdout)
    both = search('t.sbt', '--machine=host_to_device_engines=6')
    assert both['changed_ns'] <= alone['changed_ns'], (alone, both)


def main():
    chance = random.Random(int(os.environ.get('TEST_SEED', '7')))
    check_badly()
    check_options()
    found = 0
    for seed in chance.sample(range(1, 10000), 4 * ROUNDS):
        for words in (['scheduled', str(seed)], ['weave', str(seed), '60', 'e']):
            found += check(words, chance.choice(MACHINES))['moved_count'] > 0
    # Threads that share all streams: nothing is known of what they tell each other, and nothing is moved.
    for seed in chance.sample(range(1, 10000), ROUNDS):
        record('t.sbt', ['queues', str(seed), '30'], MACHINES[0])
        assert not search('t.sbt')['moved_count'], seed
    for words in ['pipeline'], ['streams'], ['reorders', 'events'], ['staging', '3', '60'], ['linked']:
        found += check(words, MACHINES[0])['moved_count'] > 0
    print(found, 'better orders')
    assert found >= 2 * ROUNDS, found


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
