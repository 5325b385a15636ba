#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits that only the device sees, in virtual time: for values in memory, for events that nodes of graphs record or wait for. `tracesmith whatif`
predicts them to the nanosecond: on other machines as the program itself has it there; without some waits, and in a better order, as
`tsreplay --schedule` has it, with the same bytes."""

import json
import os
import pathlib
import random
import tempfile

from virtual import BIN, EMU, PROGRAMS, read, record, run, tool

MACHINES = ('block_slots=64', 'block_slots=2,instruction_ps=5000', 'block_slots=8,call_ns=100', 'launch_latency_ns=0,call_ns=9000',
            'kernel_ns=0,copy_latency_ns=0,device_mbps=1000')
DEFAULTS = 'block_slots=64,instruction_ps=1000'
KINDS = ('egvw', 'v', 'vw', 'gv', 'g', 'gvw')
ROUNDS = 40 if os.environ.get('TS_TEST_ALL') else 6


def times_of(records):
    """Of commands, by stream and position."""
    return {(r['args']['of_stream'], r['args']['of_position']): (r['args']['start_ns'], r['args']['start_ns'] + r['args']['duration_ns'])
            for r in records if r['call'] == 'gpu_time'}


def predict(name, records, *options):
    answer = json.loads(tool('whatif', '--json', '--times', *options, name).stdout)
    assert answer['virtual'] and answer['off_count'] == 0 and not answer['stuck'], (name, options, answer)
    places = {r['seq']: (r['stream'], r['position']) for r in records}
    return answer, {places[c['seq']]: (c['start_ns'], c['end_ns']) for c in answer['commands']}


def check_same(times, predicted, what):
    for place, time in times.items():
        assert predicted[place] == time, (what, place, time, predicted[place])
    assert times, what


def check_machine(words, machine, recorded=MACHINES[0]):
    record('a.sbt', words, recorded)
    record('b.sbt', words, machine)
    records = read('a.sbt')
    _, predicted = predict('a.sbt', records, f'--machine={machine}')
    check_same(times_of(read('b.sbt')), predicted, (words, machine))


def check_replayed(words, machine, *options):
    """Returns whether calls were moved."""
    record('a.sbt', words, machine)
    records = read('a.sbt')
    answer, predicted = predict('a.sbt', records, '--schedule-out=s.txt', *options)
    pathlib.Path('r.sbt').unlink(missing_ok=True)
    done = run([BIN / 'tracesmith', 'replay', '--device=emu', '--json', '--timeout=20', '--schedule=s.txt', '--time=1:0', '-o', 'r.sbt', 'a.sbt'],
               {'TS_EMU_TIME': 'virtual', 'TS_EMU_MACHINE': machine, 'LD_LIBRARY_PATH': str(EMU)})
    assert json.loads(done.stdout)['verdict'] == 'same', (words, machine, options, done)
    check_same(times_of(read('r.sbt')), predicted, (words, machine, options))
    return answer.get('moved_count', 0) > 0


def waits_for_values(words):
    record('v.sbt', words, MACHINES[0])
    names = {r['seq']: r['call'] for r in read('v.sbt')}
    states = json.loads(tool('view', '--states', '--json', 'v.sbt').stdout)
    assert not states['findings'], (words, states['findings'])
    return [(names[i['seq']], names.get(i['by'])) for i in states['commands'] if i['state'] == 'wait' and i['reason'] == 'value']


def check_states():
    """Such a wait says what it waited for: the command that wrote the value; none where the program did."""
    waits = waits_for_values(['values', 'calm'])
    assert {('cuStreamWaitValue32_v2', 'cuStreamWriteValue32_v2'), ('cuStreamWaitValue64_v2', 'cuStreamWriteValue64_v2'),
            ('cuGraphLaunch', 'cuStreamWriteValue32_v2')} == set(waits), waits
    assert waits_for_values(['values', 'late']) == [('cuStreamWaitValue32_v2', None)] * 3


def check_host():
    """What the program writes counts from its next call: also where that is another one, or is made later."""
    for machine in MACHINES:
        check_machine(['values', 'late'], machine)


def check_programs():
    """A replay adds nothing that takes time: it takes what graphs give back, and writes what the program wrote, beside."""
    for words in ['graphs'], ['captures'], ['event_nodes'], ['conditional'], ['values', 'calm'], ['values', 'late']:
        for machine in MACHINES[:3]:
            check_replayed(words, machine)


def check_flags():
    """Values that functions of the program write, or that are overwritten before the wait comes; on streams of the replay's own, too, where the values are
    there in time."""
    for way in ('function', 'there', 'overwritten', 'skipped', 'many', 'blocking'):
        for machine in MACHINES:
            check_replayed(['flags', way], machine)
    for machine in MACHINES:
        check_machine(['flags', 'function'], machine)
        check_machine(['flags', 'program'], machine)
    check_machine(['flags', 'overwritten'], DEFAULTS, MACHINES[1])
    for mode in {'TS_EMU_TIME': 'virtual'}, {'TS_EMU_STREAMS': 'serial'}, {}:  # does not hang
        assert run([PROGRAMS / 'flags', 'failed'], {**mode, 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}).stdout == '700\n'
    for way in ('program', 'there', 'again'):
        for machine in MACHINES[:4]:  # fills in time: those of calls without a stream do not overlap in a replay
            check_replayed(['flags', way], machine, '--streams=3')


def main():
    chance = random.Random(int(os.environ.get('TEST_SEED', '9')))
    moved = 0
    check_states()
    check_host()
    check_programs()
    check_flags()
    for number in range(ROUNDS):
        words = ['weave', str(chance.randrange(1, 10**6)), chance.choice(('30', '60', '120')), KINDS[number % len(KINDS)]]
        check_machine(words, chance.choice(MACHINES))
        check_replayed(words, chance.choice(MACHINES))
        moved += check_replayed(words, chance.choice(MACHINES), '--order')
    assert moved, 'no order was better'


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
