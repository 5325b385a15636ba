#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith whatif` and `tracesmith critical` in virtual time. What was recorded is predicted to the nanosecond; and what a change
would bring is predicted as it is when the changed program runs: without one of its waits, with other priorities, on another
machine. A critical path covers all the time, and so do what devices did and what they waited for."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
# Threads that compete are not predicted: docs/limits.md.
EXACT = ('streams', 'weave egw', 'weave egvw', 'values calm', 'event_nodes', 'graphs', 'conditional', 'mistyped', 'linked', 'pipeline', 'overtakes', 'two', 'staging', 'rounds', 'learns', 'captures', 'pools', 'copies', 'batches',
         'managed', 'saxpy', 'texture', 'spins', 'sync_memops', 'behind', 'functions', 'pinned', 'hostmem')
DEFAULT = 'block_slots=64'
MACHINES = (DEFAULT, 'block_slots=3,instruction_ps=5000', 'call_ns=100', 'launch_latency_ns=0,call_ns=9000', 'host_to_device_engines=2',
            'block_slots=1,device_to_host_mbps=50,host_to_device_mbps=90', 'kernel_ns=0,copy_latency_ns=0,device_mbps=1000')
ROUNDS = 12 if os.environ.get('TS_TEST_ALL') else 2


def tool(*words, status=0):
    done = subprocess.run([BIN / 'tracesmith', *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout[:2000], done.stderr)
    return done


def record(name, words, machine=DEFAULT):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_EMU_TIME': 'virtual', 'TS_GPU_TIME': '1',
                   'TS_EMU_MACHINE': machine, 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)


def read(name):
    return [json.loads(line) for line in tool('view', '--json', name).stdout.splitlines()][1:]


def recorded_times(records):
    """[start, end] of each command that the recording has a time of, else None, in the order of the trace."""
    times = {(r['args']['of_stream'], r['args']['of_position']): r['args'] for r in records if r['call'] == 'gpu_time'}
    found = []
    for r in records:
        if r['api'] == 'cuda' and r['position'] and not {'failed', 'captured'} & set(r['flags']) and r['kind'] in ('command', 'signal', 'wait'):
            t = times.get((r['stream'], r['position']))
            found.append(t and [t['start_ns'], t['start_ns'] + t['duration_ns']])
    return found


def predict(name, *options):
    answer = json.loads(tool('whatif', '--json', '--times', *options, name).stdout)
    return answer, [[c['start_ns'], c['end_ns']] for c in answer['commands']]


def check_recorded(name):
    answer, _ = predict(name)
    assert answer['virtual'] and answer['off_count'] == 0, (name, answer)
    assert answer['simulated_ns'] == answer['changed_ns'] and not answer['stuck'], answer
    return answer


def check_same(records, predicted, what):
    actual = recorded_times(records)
    assert len(actual) == len(predicted), (what, len(actual), len(predicted))
    for i, (a, p) in enumerate(zip(actual, predicted)):
        assert a is None or a == p, (what, i, 'ran', a, 'predicted', p)
    assert sum(a is not None for a in actual) > 5, what


def waits_of(records):
    return [r for r in records if r['api'] == 'cuda' and not {'failed', 'captured'} & set(r['flags']) and r['kind'] in ('sync', 'wait')]


def check_waits(seed, chance, name, changed):
    """Waits are left out: one, or several."""
    record(name, ['scheduled', str(seed)])
    waits = waits_of(read(name))[:-1]
    count = 0
    for number in range(ROUNDS):
        drops = sorted(chance.sample(range(len(waits)), min(len(waits), 1 + number % 3)))
        if not drops:
            continue
        record(changed, ['scheduled', str(seed), '60', *(f'drop={n}' for n in drops)])
        _, predicted = predict(name, *(f'--drop-wait={waits[n]["seq"]}' for n in drops))
        check_same(read(changed), predicted, (seed, drops))
        count += 1
    return count


def check_waits_known(seed, chance, name, changed):
    """Copies to pageable memory wait, and those of rows may, though their calls alone do not say so: also where waits and functions of
    the program follow, which hide it, and these waits are left out."""
    for words in ('pageable after', 'pageable functions', 'pageable functions after', 'rows after', 'pageable rows after'):
        words = ['scheduled', str(seed), '60', *(f'{word}=1' for word in words.split())]
        record(name, words)
        check_recorded(name)
        found = json.loads(tool('view', '--states', '--json', name).stdout)['findings']
        assert not found, (words, found)
        waits = waits_of(read(name))[:-1]
        for count in (1, min(len(waits), 20)):
            drops = sorted(chance.sample(range(len(waits)), count))
            record(changed, words + [f'drop={n}' for n in drops])
            _, predicted = predict(name, *(f'--drop-wait={waits[n]["seq"]}' for n in drops))
            check_same(read(changed), predicted, (words, drops))


def check_default_stream(name, changed):
    """A wait for a default stream to which nothing was sent is for the streams that join it."""
    for words in (['default_streams'], ['default_streams', 'quiet']):
        record(name, words)
        record(changed, words + ['drop'])
        check_recorded(name)
        drops = [w['seq'] for w in waits_of(read(name)) if w['call'] == 'cuStreamSynchronize']
        assert len(drops) == 2
        _, predicted = predict(name, *(f'--drop-wait={seq}' for seq in drops))
        check_same(read(changed), predicted, words)


def check_machine(seed, machine, name, changed):
    record(name, ['scheduled', str(seed)])
    record(changed, ['scheduled', str(seed)], machine)
    check_recorded(changed)
    _, predicted = predict(name, f'--machine={machine}')
    check_same(read(changed), predicted, (seed, machine))


def check_priorities(seed, name, changed):
    record(name, ['scheduled', str(seed)], 'block_slots=1')
    record(changed, ['scheduled', str(seed), '60', 'stream=1', 'priority=-3', 'stream=2', 'priority=-5'], 'block_slots=1')
    numbers = [r['args']['number'] for r in read(name) if r['call'] == 'cuStreamCreateWithPriority']
    actual = recorded_times(read(changed))
    _, predicted = predict(name, f'--priority={numbers[1]}=-3', f'--priority={numbers[2]}=-5')
    check_same(read(changed), predicted, (seed, 'priorities'))
    return actual != recorded_times(read(name))


def check_replayed(seed, chance, name):
    """The predicted schedule, with or without a wait, is carried out by a replay: at the predicted times."""
    record(name, ['scheduled', str(seed)])
    records = read(name)
    places = {r['seq']: (r['stream'], r['position']) for r in records}
    drops = [w for w in waits_of(records)[:-1] if chance.randrange(4) == 0]
    pathlib.Path('replayed.sbt').unlink(missing_ok=True)
    answer, _ = predict(name, '--schedule-out=s.txt', *(f'--drop-wait={w["seq"]}' for w in drops))
    environment = {**os.environ, 'TS_EMU_TIME': 'virtual', 'TS_EMU_MACHINE': DEFAULT, 'LD_LIBRARY_PATH': str(EMU)}
    done = subprocess.run([BIN / 'tracesmith', 'replay', '--device=emu', '--timeout=20', '--schedule=s.txt', '--time=1:0', '-o', 'replayed.sbt', name],
                          capture_output=True, text=True, check=False, env=environment)
    # What the program computes depends on the schedule, and not all of it is kept.
    assert done.returncode in (0, 1, 2, 3), done
    if not pathlib.Path('replayed.sbt').exists():
        assert done.returncode in (1, 2), done
        return 0
    times = {(r['args']['of_stream'], r['args']['of_position']): r['args'] for r in read('replayed.sbt') if r['call'] == 'gpu_time'}
    predicted = {places[c['seq']]: [c['start_ns'], c['end_ns']] for c in answer['commands']}
    for place, t in times.items():
        assert predicted[place] == [t['start_ns'], t['start_ns'] + t['duration_ns']], (seed, place, t, predicted[place], done)
    assert len(times) > 5
    return 1


def busy(records):
    """Length of the union of the times of all commands."""
    total, until = 0, 0
    for start, end in sorted(t for t in recorded_times(records) if t):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def check_critical(name):
    answer = json.loads(tool('critical', '--json', '--list', '--slack', name).stdout)
    pieces = answer['pieces']
    assert pieces[0]['begin_ns'] == answer['begin_ns'] and pieces[-1]['end_ns'] == answer['begin_ns'] + answer['span_ns'], answer
    for a, b in zip(pieces, pieces[1:]):
        assert a['end_ns'] == b['begin_ns'], (name, a, b)
    assert sum(c['total_ns'] for c in answer['critical_path']) == answer['span_ns'], answer
    for cause in answer['critical_path']:
        assert cause['gain_ns'] is None or cause['gain_ns'] <= answer['span_ns'], cause
    works = {p['seq'] for p in pieces if p['cause'] in ('kernel', 'copy', 'fill', 'graph')}
    slack = {row['seq']: row['slack_ns'] for row in answer['slack']}
    records = read(name)
    # What a thread asks for again and again may come up to a call later, and so each time that it asks.
    limit = 1 + 1000 * sum(r['call'] in ('cuStreamQuery', 'cuEventQuery') and 'failed' not in r['flags'] for r in records)
    assert all(slack[seq] < limit for seq in works), (name, [(seq, slack[seq]) for seq in works])
    assert len(answer['devices']) == 1
    idle = sum(c['total_ns'] for c in answer['devices'][0]['idle'])
    # The times of a graph's launch are one, though nothing may run in between.
    if not any(r['call'] == 'cuGraphLaunch' for r in records) and name not in ('functions.sbt', 'behind.sbt', 'batches.sbt'):
        assert idle + busy(records) == answer['span_ns'], (name, idle, busy(records), answer['span_ns'])


def check_refused():
    record('streams.sbt', ['streams'])
    for option, words in (('--drop-wait=1', 'waits for nothing'), ('--drop-wait=x', 'not the number'),
                          ('--kernel=nobody=2', 'no kernel is called nobody'), ('--kernel=x', 'NAME=FACTOR'),
                          ('--kernel=*=-1', 'NAME=FACTOR'), ('--kernel=*=nan', 'NAME=FACTOR'), ('--priority=99999=1', 'nothing is sent'),
                          ('--priority=1', 'STREAM=N'), ('--machine=slots=1', 'no key of a machine')):
        done = tool('whatif', option, 'streams.sbt', status=2)
        assert words in done.stderr, (option, done.stderr)


def main():
    chance = random.Random(int(os.environ.get('TEST_SEED', '5')))
    for words in EXACT:
        name = words.split()[0] + '.sbt'
        words = words.replace('weave', 'weave 1 60').split()
        record(name, words)
        check_recorded(name)
        check_critical(name)
    check_refused()
    check_default_stream('a.sbt', 'b.sbt')
    count = 0
    for seed in chance.sample(range(1, 10000), ROUNDS * 2):
        count += check_waits(seed, chance, 'a.sbt', 'b.sbt')
        check_recorded('a.sbt')
        check_critical('a.sbt')
    assert count >= ROUNDS
    assert sum(check_replayed(seed, chance, 'a.sbt') for seed in chance.sample(range(1, 10000), ROUNDS * 3)) >= ROUNDS
    for seed in chance.sample(range(1, 10000), ROUNDS):
        check_waits_known(seed, chance, 'a.sbt', 'b.sbt')
    for machine in MACHINES:
        check_machine(chance.randrange(1, 10000), machine, 'a.sbt', 'b.sbt')
    assert any(check_priorities(chance.randrange(1, 10000), 'a.sbt', 'b.sbt') for _ in range(16)), 'no priority changed anything'


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(0)
