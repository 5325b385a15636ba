# SPDX-License-Identifier: Apache-2.0
"""States of commands of HSA (`tsview --states`), and hangs (`tracesmith graph --hang`). usage: states_hsa.py FIRST COUNT

Programs made of a number (hsa_random), and others, have just the waits that a simple recomputation finds; hsa_hangs hangs. Meson sets
TEST_BIN, TEST_CAPTURE, TEST_EMU, TEST_PROGRAMS."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose import Graph  # noqa: E402
from loose_states import States, by_subject, check_cover, check_too_early, ends, states  # noqa: E402

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
ALTER = PROGRAMS.parent / 'programs' / 'alter_trace'
TOOL = BIN / 'tracesmith'
BARRIER, COPY, KERNEL = 'aql_barrier_and', 'hsa_amd_memory_async_copy', 'aql_kernel_dispatch'


def command(program, *words):
    return [PROGRAMS / program, PROGRAMS / 'hsa_kernels.hsaco', *words]


def environment(**settings):
    return {**os.environ, 'LD_LIBRARY_PATH': str(EMU), 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': 'a.sbt', **settings}


def record(*words, **settings):
    subprocess.run(command(*words), env=environment(**settings), stdout=subprocess.DEVNULL, check=True, timeout=60)
    return 'a.sbt'


def check_program(*words):
    trace = record(*words, TS_GPU_TIME='1')
    s = States(TOOL, trace, ['aql_barrier'])
    return s.check(), check_too_early(TOOL, ALTER, trace, ['aql_barrier'])


def check_untimed():
    answer = states(TOOL, record('hsa_gated', 'barrier'))
    check_cover(answer)
    assert {row['state'] for row in answer['commands']} == {'sent', 'wait'} and not ends(answer), answer['commands']
    assert all(row['until'] or row['by'] for row in answer['commands'] if row['state'] == 'wait')
    answer = states(TOOL, record('hsa_threads'))
    check_cover(answer)
    assert {row['state'] for row in answer['commands']} == {'sent'} and len(by_subject(answer['streams'])) > 4
    assert not ends(answer), 'the program has waited for all'


def hang(way, status, **more):
    """Records a program until it says that it hangs."""
    with subprocess.Popen(command('hsa_hangs', way), env=environment(**more), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == 'hangs\n'
        try:
            program.wait(timeout=20 if way == 'goes_on' else 1)
            assert way == 'goes_on', way
        except subprocess.TimeoutExpired:
            assert way != 'goes_on'
            program.send_signal(signal.SIGKILL)
    done = subprocess.run([TOOL, 'graph', '--hang', '--json', 'a.sbt'], capture_output=True, text=True, check=False)
    assert done.returncode == status, (way, done.returncode, done.stdout, done.stderr)
    found, answer = json.loads(done.stdout), states(TOOL, 'a.sbt')
    stacks = {stack['seq']: ' '.join(stack['frames']) for stack in found['stacks']}
    assert all('main' in stacks[row['seq']] for row in found['cycles'] + found['open_ends']), stacks
    assert [row[2:] for row in ends(answer)] == [(row['reason'], row['before']) for row in found['commands']], (found, answer)
    check_cover(answer)
    return found


def check_cycle(way, calls, reasons, other=1):
    found = hang(way, 1)
    rows = found['cycles']
    assert found['cycle_count'] == 1 and {row['cycle'] for row in rows} == {1}, found
    assert [row['before'] for row in rows] == [row['seq'] for row in rows[1:] + rows[:1]], rows
    assert [row['call'] for row in rows] == calls and [row['reason'] for row in rows] == reasons, rows
    assert [(row['value'] is None, row['address'] is None) for row in rows] == [(reason == 'stream',) * 2 for reason in reasons], rows
    assert {row['value'] for row in rows} <= {'v == 0', None} and len(found['commands']) == len(rows) + other, found['commands']
    assert len(found['open_ends']) == (way == 'late'), found['open_ends']
    stacks = {stack['seq']: ' '.join(stack['frames']) for stack in found['stacks']}
    assert all('wait_for' in stacks[row['seq']] for row in rows if row['call'] == BARRIER and row['value']), stacks
    return found


def check_open(way, note, **more):
    found = hang(way, 0, **more)
    row, = found['open_ends']
    assert row['reason'] == 'signal' and row['value'] == 'v == 0' and row['note'] == note and not found['cycles'], row
    assert [row['call'] for row in found['calls']] in ([], ['hsa_signal_wait_scacquire']), found['calls']


def check_again(way):
    """A signal that had the value for a while has ended waits for it, whatever it has now."""
    rows = hang(way, 0)['open_ends']
    assert [row['note'] for row in rows] == ['whether it comes there is not known', 'nothing recorded brings it there: it comes to 1'], rows


def check_before(call):
    """A signal that was lowered before recording began: what lowers it later has nothing to do with who waited before."""
    found = hang('before', 0, TS_START_CALL=call)
    assert len(found['open_ends']) == 1, found
    g = Graph(TOOL, 'a.sbt')
    assert not any(edge['from'] > edge['to'] for edge in g.edges), g.edges
    assert len(g.commands) == 4, g.commands


def check_hangs():
    check_cycle('crossed', [BARRIER] * 4, ['signal', 'stream'] * 2)
    found = check_cycle('ring', [BARRIER] * 6, ['signal', 'stream'] * 3, other=3)
    assert [(row['call'], row['reason']) for row in found['commands'][6:]] == [(KERNEL, 'stream'), (COPY, 'signal'), (BARRIER, 'stream')]
    check_cycle('copies', [BARRIER, COPY], ['signal', 'signal'])
    check_cycle('itself', [BARRIER], ['signal'])
    check_cycle('late', [BARRIER] * 2, ['signal', 'stream'], other=2)
    check_open('open', 'nothing recorded brings it there: it comes to 1')
    check_open('too_high', 'nothing recorded brings it there: it comes to 2')
    check_open('too_high', 'nothing recorded brings it there: it comes to 2', TS_START_CALL='60')  # lowered before recording began
    check_open('unseen', 'whether it comes there is not known')
    for way in ('again', 'added', 'reused'):
        check_again(way)
    check_before('59')
    found = hang('goes_on', 0)
    assert not any(found[name] for name in ('cycles', 'open_ends', 'commands', 'calls')), found


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = [check_program('hsa_random', str(number)) for number in range(first, first + count)]
    for program in ('hsa_dispatch', 'hsa_pipeline', 'hsa_queues', 'hsa_threads', 'hsa_gated', 'hsa_rounds'):
        found.append(check_program(program))
        print(program, found[-1])
    print(found)
    assert sum(waits for waits, _ in found) > 10 * count and sum(early for _, early in found) >= count, found
    check_untimed()
    check_hangs()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
