#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith whatif --streams=K`: the streams and waits that it finds are given to the program, which then runs at the predicted times, to the
nanosecond, and computes the same; each pair of commands that conflict is in an order, and no wait is there twice."""

import collections
import json
import os
import pathlib
import random
import subprocess
import tempfile

from memory_edges import KINDS, Commands, tool
from virtual import BIN, EMU, read, record

MACHINES = ('block_slots=64', 'block_slots=2', 'call_ns=100,launch_latency_ns=0', 'device_mbps=1000,host_to_device_engines=2,block_slots=16')
VERDICTS = collections.Counter()
ROUNDS = 40 if os.environ.get('TS_TEST_ALL') else 8


def commands_of(records):
    return [r for r in records if r['api'] == 'cuda' and r['kind'] == 'command' and r['position']]


def times_of(records):
    times = {(r['args']['of_stream'], r['args']['of_position']): r['args'] for r in records if r['call'] == 'gpu_time'}
    return [(t['start_ns'], t['start_ns'] + t['duration_ns']) for t in (times[r['stream'], r['position']] for r in commands_of(records))]


def conflicts(commands, x, y):
    """How sure it is that two commands conflict; None: they do not."""
    kinds = [max(a.kind, b.kind) for a in commands.accesses.get(x, ()) for b in commands.accesses.get(y, ())
             if max(a.start, b.start) < min(a.end, b.end) and (a.writes or b.writes) and not a.in_call and not (b.in_call and b.reads)]
    return min(kinds, default=None)


def check_order(records, found):
    """Each conflict is ordered by streams, waits of them, or a wait of the host, and each wait is for one that nothing else orders."""
    commands, order = Commands(records), [r['seq'] for r in commands_of(records)]
    stream = {c['seq']: c['stream'] for c in found['commands']}
    hosts = [r['seq'] for r in records if r['kind'] == 'sync']
    pinned = [(int(r['args']['pp'], 0), r['args']['bytesize']) for r in records if r['call'] == 'cuMemHostAlloc']
    waiting = [r['seq'] for r in commands_of(records) if 'DtoH' in r['call'] and not any(a <= int(r['args']['dstHost'], 0) < a + n for a, n in pinned)]
    waits = {}
    for wait in found['waits']:
        waits.setdefault(wait['to'], []).append(wait)
    before, last = {}, {}
    for y in order:
        synced = max((h for h in hosts if h < y), default=0)
        before[y] = {x for x in order if x < synced}
        for x in waiting:
            if x < y:
                before[y] |= before[x] | {x}
        if stream[y] in last:
            before[y] |= before[last[stream[y]]] | {last[stream[y]]}
        for wait in waits.get(y, ()):
            assert wait['from'] not in before[y], wait  # those that say most come first
            kind = conflicts(commands, wait['from'], y)
            assert kind is not None and KINDS[kind] == wait['access'], (wait, kind)
            before[y] |= before[wait['from']] | {wait['from']}
        for x in order[:order.index(y)]:
            assert x in before[y] or conflicts(commands, x, y) is None, (x, y, found['waits'])
        last[stream[y]] = y


def spread(name, count):
    found = json.loads(tool('whatif', '--json', '--times', f'--streams={count}', name))
    assert found['wait_count'] == len(found['waits']) == sum(found[f'{kind}_count'] for kind in KINDS), found
    assert found['event_count'] == len({w['from'] for w in found['waits']}) and not found['stuck'], found
    return found


def check_run(seed, name, count, machine, digest):
    """Runs the program as it was found, and returns the time of all before and after."""
    records = read(name)
    found = spread(name, count)
    order = [r['seq'] for r in commands_of(records)]
    commands = {c['seq']: c for c in found['commands']}
    check_order(records, found)
    places = ''.join(chr(ord('a') + commands[seq]['stream']) for seq in order)
    waits = ','.join(f'{order.index(w["from"])}:{order.index(w["to"])}' for w in found['waits'])
    assert record(name, ['spread', str(seed), str(count), places, waits], machine) == digest, (seed, count, places, waits)
    actual = times_of(read(name))
    predicted = [(commands[seq]['start_ns'], commands[seq]['end_ns']) for seq in order]
    assert actual == predicted, (seed, count, machine, [(i, a, p) for i, (a, p) in enumerate(zip(actual, predicted)) if a != p][:4], places, waits)
    ran = json.loads(tool('whatif', '--json', name))
    assert ran['off_count'] == 0 and ran['simulated_ns'] == found['changed_ns'], (ran['simulated_ns'], found['changed_ns'])
    return found


def replay(name, **settings):
    environment = {**os.environ, 'LD_LIBRARY_PATH': str(EMU), **settings}
    times = ['--time=1:0', '-o', 'timed.sbt'] if 'TS_EMU_TIME' in settings else []
    done = subprocess.run([BIN / 'tracesmith', 'replay', '--device=emu', '--json', '--timeout=20', '--schedule=s.txt', *times, name], env=environment,
                          capture_output=True, text=True, check=False)
    verdict = json.loads(done.stdout)['verdict']
    assert (done.returncode, verdict) in ((0, 'same'), (1, 'different'), (2, 'cannot_tell')), (name, settings, done)
    VERDICTS[verdict] += 1
    return verdict


def check_replayed(name, count, machine):
    """A replay sends the commands to those streams: at the predicted times, and with the same bytes, also where the device takes what it can in any order. Returns
    how many of the waits are needed: without one the bytes may be others."""
    found = json.loads(tool('whatif', '--json', '--times', f'--streams={count}', '--schedule-out=s.txt', name))
    places = {r['seq']: (r['stream'], r['position']) for r in read(name)}
    predicted = {places[c['seq']]: (c['start_ns'], c['end_ns']) for c in found['commands']}
    # A result in memory that others may write over, of a command that was not known to be complete when it was recorded, is not compared.
    good = ('same', 'cannot_tell')
    assert replay(name, TS_EMU_TIME='virtual', TS_EMU_MACHINE=machine) in good, (name, count, machine)
    times = {(t['of_stream'], t['of_position']): (t['start_ns'], t['start_ns'] + t['duration_ns'])
             for t in (r['args'] for r in read('timed.sbt') if r['call'] == 'gpu_time')}
    assert len(times) > 3 and all(predicted[place] == time for place, time in times.items()), (name, count, machine)
    orders = [{'TS_EMU_STREAMS': 'serial', 'TS_EMU_SCHEDULE': order} for order in ('reverse', 'random:1', 'random:2')]
    assert all(replay(name, **order) in good for order in orders), (name, count)
    text = pathlib.Path('s.txt').read_text(encoding='utf-8')
    needed = 0
    for line in [line for line in text.splitlines() if line.startswith('send') and ' after=' in line][:3]:
        pathlib.Path('s.txt').write_text(text.replace(line + '\n', line[:line.index(' after=')] + '\n'), encoding='utf-8')
        needed += any(replay(name, **order) == 'different' for order in orders)
    return needed


def check_hosts(records, found):
    """What a thread sends behind a wait is sent when all that the wait was for is over. Returns the number of waits."""
    times = {c['seq']: c for c in found['commands']}
    marks, count = {}, 0
    for r in records:
        if {'failed', 'captured'} & set(r['flags']) or r['api'] != 'cuda':
            continue
        if r['kind'] == 'signal':
            marks[r['args']['hEvent']] = r
        target = r if r['stream'] is not None else marks.get(r['args'].get('hEvent'))
        if r['kind'] != 'sync' or not target or 'Query' in r['call']:
            continue
        earlier = [times[c['seq']]['end_ns'] for c in commands_of(records) if c['stream'] == target['stream'] and c['seq'] < target['seq'] and c['seq'] in times]
        behind = [times[c['seq']]['sent_ns'] for c in commands_of(records) if c['thread'] == r['thread'] and c['seq'] > r['seq'] and c['seq'] in times]
        if earlier and behind:
            assert min(behind) >= max(earlier), (r, min(behind), max(earlier))
            count += 1
    return count


def check_programs():
    """Waits of the host for a stream or an event, copies that wait, default streams, graphs, several threads."""
    hosts = 0
    for words in ['pipeline'], ['streams'], ['reorders', 'events'], ['weave', '5', '60', 'egw'], ['scheduled', '7'], ['queues', '3', '30'], ['two']:
        record('t.sbt', words, MACHINES[0])
        for count in 1, 3:
            found = spread('t.sbt', count)
            assert count > 1 or not found['waits'], (words, found['waits'])
            hosts += check_hosts(read('t.sbt'), found)
            if words[0] not in ('queues', 'two', 'scheduled'):  # threads, another process, bytes that depend on the order
                check_replayed('t.sbt', count, MACHINES[0])
    assert hosts > 60, hosts


def check_refused():
    record('t.sbt', ['badly', 'last'], MACHINES[0])
    pathlib.Path('s.txt').unlink(missing_ok=True)
    for options, words in ((['--streams=0'], "'0' is no K"), (['--streams=65'], "'65' is no K"), (['--streams=x'], "'x' is no K"), (['--streams=-1'], "is no K"),
                           (['--streams=2', '--order'], '--order'), (['--streams=2', '--fuse'], '--fuse'), (['--streams=2', '--priority=0=1'], '--priority')):
        done = subprocess.run([BIN / 'tracesmith', 'whatif', *options, 't.sbt'], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and words in done.stderr and not pathlib.Path('s.txt').exists(), (options, done)
    done = subprocess.run([BIN / 'tracesmith', 'whatif', '--streams=2', '--times', 't.sbt'], capture_output=True, text=True, check=True)
    assert '0 waits for 0 events' in done.stderr, done


def main():
    chance = random.Random(int(os.environ.get('TEST_SEED', '3')))
    waits = faster = needed = 0
    for number, seed in enumerate(chance.sample(range(1, 10000), ROUNDS)):
        machine = MACHINES[number % len(MACHINES)]
        digest = record('t.sbt', ['spread', str(seed)], machine)
        needed += check_replayed('t.sbt', 1 + number % 4, machine)
        for count in (1, 3, 2, 6):  # each on what came out of the one before
            found = check_run(seed, 't.sbt', count, machine, digest)
            waits += found['wait_count']
            faster += found['changed_ns'] < found['simulated_ns']
    print(waits, 'waits', faster, 'faster')
    assert waits > 8 * ROUNDS and faster > ROUNDS, (waits, faster)
    assert needed > ROUNDS // 2, needed
    check_programs()
    check_refused()
    assert VERDICTS['same'] > 20 * VERDICTS['cannot_tell'], VERDICTS


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
