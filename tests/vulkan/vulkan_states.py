# SPDX-License-Identifier: Apache-2.0
"""States of commands of Vulkan (`tsview --states`), and hangs (`tracesmith graph --hang`). usage: vulkan_states.py FIRST COUNT

Programs made of a number (vk_order) have just the waits that a simple recomputation finds; vk_hangs hangs, or loses its device. Meson
gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, BUILD (folder of the programs), ALTER, EMU."""

import glob
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

CAPTURE, TOOL, ALTER = os.environ['TS_TEST_CAPTURE'], os.environ['TS_TEST_TOOL'], os.environ['TS_TEST_ALTER']
BUILD = pathlib.Path(os.environ['TS_TEST_BUILD'])
DRIVERS = sorted(glob.glob('/usr/share/vulkan/icd.d/lvp_icd*.json'))
SUBMIT = 'vkQueueSubmit'
SKIP = 77


def environment(**settings):
    return {**os.environ, 'VK_ICD_FILENAMES': DRIVERS[0], 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': 'a.sbt', **settings}


def record(*words, **settings):
    subprocess.run([BUILD / words[0], *words[1:]], env=environment(**settings), stdout=subprocess.DEVNULL, check=True, timeout=60)
    return 'a.sbt'


def check_order(number):
    trace = record('vk_order', str(number), TS_GPU_TIME='1')
    s = States(TOOL, trace)
    count = s.check()
    assert not ends(s.answer) and len(s.rows) == len(s.graph.commands)
    return count, check_too_early(TOOL, ALTER, trace)


def check_untimed():
    """Without times nothing runs: a command is sent, until it is known that it has ended."""
    answer = states(TOOL, record('vk_waits'))
    check_cover(answer)
    assert {row['state'] for row in answer['commands']} == {'sent', 'wait'}, answer['commands']
    assert all(row['reason'] == ('no time' if row['state'] == 'sent' else 'signal') for row in answer['commands'])
    assert len(by_subject(answer['commands'])) == 7 and not ends(answer)
    unknown = [row for row in answer['commands'] if row['end_ns'] == answer['end_ns']]
    assert len(unknown) <= 1, 'the program has waited for all of them'


def hang(way, status, program='vk_hangs', **more):
    """Records a program until it says that it hangs."""
    settings = environment(VK_ICD_FILENAMES=str(BUILD / 'vk_driver.json'), TS_TEST_DRIVER='queues', **more)
    with subprocess.Popen([BUILD / program, way], env=settings, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == 'hangs\n'
        try:
            program.wait(timeout=20 if way == 'goes_on' else 1)
            assert way == 'goes_on', way
        except subprocess.TimeoutExpired:
            assert way != 'goes_on'
            program.send_signal(signal.SIGKILL)
    done = subprocess.run([TOOL, 'graph', '--hang', '--json', 'a.sbt'], capture_output=True, text=True, check=False)
    assert done.returncode == status, (way, done.returncode, done.stdout, done.stderr)
    found = json.loads(done.stdout)
    stacks = {stack['seq']: ' '.join(stack['frames']) for stack in found['stacks']}
    assert all('main' in stacks[row['seq']] for row in found['cycles'] + found['open_ends']), stacks
    return found, ends(states(TOOL, 'a.sbt'))


def check_cycle(way, reasons, values):
    found, left = hang(way, 1)
    rows = found['cycles']
    assert found['cycle_count'] == 1 and {row['cycle'] for row in rows} == {1} and not found['open_ends'], found
    assert [row['before'] for row in rows] == [row['seq'] for row in rows[1:] + rows[:1]], rows
    assert [row['reason'] for row in rows] == reasons and [row['value'] for row in rows] == values, rows
    assert all((row['address'] or '').startswith('VkSemaphore#') == (row['value'] is not None) for row in rows), rows
    assert left == [(SUBMIT, 'not finished', row['reason'], row['before']) for row in sorted(rows, key=lambda row: row['seq'])], left
    stacks = {stack['seq']: ' '.join(stack['frames']) for stack in found['stacks']}
    assert all('timeline_send' in stacks[row['seq']] for row in rows if row['value']), stacks


def check_open(way, value, comes_to, **more):
    found, left = hang(way, 0, **more)
    row, = found['open_ends']
    assert row['reason'] == 'signal' and row['value'] == value and row['note'].endswith(f'comes to {comes_to}'), row
    assert left == [(SUBMIT, 'not finished', 'signal', None), (SUBMIT, 'not finished', 'signal', row['seq'])], left
    assert not found['cycles'] and [call['call'] for call in found['calls']] in ([], ['vkDeviceWaitIdle']), found
    assert found['commands'][1]['note'] is None, 'that it brings the value itself is no help'


def check_batches():
    """A batch that others wait for is not the whole submit: what waits for it, and is waited for by the next, is no cycle."""
    found, left = hang('batches', 0)
    assert not found['cycles'] and found['commands'][0]['before'] == found['commands'][1]['seq'], found
    assert [row['seq'] for row in found['open_ends']] == [found['commands'][1]['seq']], found
    assert left[0][2] == 'signal' and left[1][2] in ('running', 'unknown'), left


def check_choice():
    """Two commands wait for each other, but a third would let one of them go on."""
    found, _ = hang('choice', 0)
    assert not found['cycles'] and [row['reason'] for row in found['commands'][:2]] == ['signal', 'signal'], found
    assert found['commands'][0]['note'] == 'or one of 1 others', found['commands']
    assert [row['seq'] for row in found['open_ends']] == [found['commands'][2]['seq']], found


def check_early():
    """A batch that waits for a value, and goes beyond it, is not what brings it there."""
    found, left = hang('early', 0)
    first, second, third = (row['seq'] for row in found['commands'])
    assert [row['before'] for row in found['commands']] == [third, third, None] and not found['cycles'], found
    assert [row[3] for row in left] == [third, third, None], left
    edges = [(edge['from'], edge['to']) for edge in Graph(TOOL, 'a.sbt').edges if edge['reason'] == 'signal']
    assert sorted(edges) == [(third, first), (third, second)], edges


def check_all_stuck():
    """Two would let a command go on, and both wait for it."""
    found, _ = hang('all', 1)
    assert found['cycle_count'] == 1 and len(found['cycles']) == 2 and len(found['commands']) == 3 and not found['open_ends'], found
    assert found['cycles'][0]['note'] == 'or one of 1 others', found['cycles']


def check_steps():
    """Of two values of one object that is the one that is waited for which is not there yet."""
    found, _ = hang('steps', 1)
    assert sorted((row['value'], row['address']) for row in found['cycles']) == [('v >= 1', 'VkSemaphore#2'), ('v >= 5', 'VkSemaphore#1')], found
    check_unreturned(*(row['seq'] for row in sorted(found['cycles'], key=lambda row: row['value'])))


def check_unreturned(waits_behind, brings):
    """A call that had not returned may have brought any value, and its command may wait for anything."""
    subprocess.run([ALTER, 'a.sbt', 'b.sbt', 'flag', str(brings), '8'], check=True)
    done = subprocess.run([TOOL, 'graph', '--hang', '--json', 'b.sbt'], capture_output=True, text=True, check=True)
    rows = {row['seq']: (row['reason'], row['note']) for row in json.loads(done.stdout)['open_ends']}
    assert rows == {waits_behind: ('signal', 'whether it comes there is not known'), brings: ('unknown', None)}, rows


def check_hangs():
    check_cycle('crossed', ['signal', 'signal'], ['v >= 1', 'v >= 1'])
    check_cycle('behind', ['signal', 'stream'], ['v >= 7', None])
    check_open('open', 'v >= 5', 3)
    check_open('open', 'v >= 5', 3, TS_START_CALL='38')  # what was sent before recording began has ended
    check_open('unsent', 'v >= 2', 0)
    check_batches()
    check_choice()
    check_early()
    check_all_stuck()
    check_steps()
    found, left = hang('goes_on', 0)
    assert not any(found[name] for name in ('cycles', 'open_ends', 'commands', 'calls')) and not left, (found, left)


def check_lost(way, submits, state):
    """The device is lost: what had been sent and was not known to have ended may have failed."""
    settings = {'VK_ICD_FILENAMES': str(BUILD / 'vk_driver.json'), 'TS_TEST_DRIVER': f'queues,lost={submits}'}
    answer = states(TOOL, record('vk_hangs', way, **settings))
    count = submits - 1 - (way == 'waited')
    assert [row[:2] for row in ends(answer)] == [(SUBMIT, state)] * count, (way, submits, ends(answer))
    failure, = answer['failures']
    assert failure['result'] == 'VK_ERROR_DEVICE_LOST' and failure['call'] == SUBMIT and failure['candidates'] == count, failure
    assert (failure['command'] is not None) == (count == 1), failure
    assert [row['result'] for row in answer['rejected']] == ['VK_ERROR_DEVICE_LOST'] * (4 - submits), answer['rejected']
    check_cover(answer)


def check_both():
    """CUDA's commands are put in order by a simulation, Vulkan's have the states of their times: both are there, over one time."""
    answer = states(TOOL, record('vk_and_cuda', TS_GPU_TIME='1', LD_LIBRARY_PATH=os.environ['TS_TEST_EMU']))
    names = [rows[0]['name'] for rows in by_subject(answer['commands']).values()]
    assert names == ['cuMemsetD32Async'] * 2 + [SUBMIT] * 2 and not answer['findings'] and not ends(answer), names
    assert all(rows[-1]['state'] == 'running' for rows in by_subject(answer['commands']).values())
    assert [of.split()[0] for of in by_subject(answer['devices'])] == ['cuda', 'vulkan']
    for what, rows in [*by_subject(answer['streams']).items(), *by_subject(answer['devices']).items()]:
        assert rows[0]['begin_ns'] == answer['begin_ns'] and rows[-1]['end_ns'] == answer['end_ns'], what
        assert all(a['end_ns'] == b['begin_ns'] for a, b in zip(rows, rows[1:])), what
    found, left = hang('hangs', 1, 'vk_and_cuda', LD_LIBRARY_PATH=os.environ['TS_TEST_EMU'])
    assert [(row['call'], row['value']) for row in found['open_ends']] == [('cuStreamWaitValue32_v2', 'v == 0x4d')], found['open_ends']
    assert [(row['call'], row['value'], row['before']) for row in found['cycles']] == [(SUBMIT, 'v >= 5', found['cycles'][0]['seq'])]
    assert [row[:3] for row in left] == [('cuStreamWaitValue32_v2', 'not finished', 'value'), (SUBMIT, 'not finished', 'signal')], left


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    if not DRIVERS:
        sys.exit(SKIP)
    found = [check_order(number) for number in range(first, first + count)]
    print(found)
    assert sum(waits for waits, _ in found) > 4 * count and sum(early for _, early in found) >= count // 2, found
    check_untimed()
    check_hangs()
    check_lost('lost', 3, 'may have failed')
    check_lost('lost', 2, 'failed')
    check_lost('waited', 3, 'failed')
    check_lost('waited', 2, None)
    check_both()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
