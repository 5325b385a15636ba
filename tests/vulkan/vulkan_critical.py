# SPDX-License-Identifier: Apache-2.0
"""`tracesmith critical` of Vulkan. usage: vulkan_critical.py FIRST COUNT

Programs made of a number (vk_order): the path, idle times and single waits are those of a computation of their own. Also without times, of
programs that were killed or lost their device, and beside CUDA. Meson gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, BUILD
(folder of the programs), EMU."""

import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose_critical import Critical, check_cover, check_top, critical, notes  # noqa: E402

CAPTURE, TOOL = os.environ['TS_TEST_CAPTURE'], os.environ['TS_TEST_TOOL']
BUILD = pathlib.Path(os.environ['TS_TEST_BUILD'])
DRIVERS = sorted(glob.glob('/usr/share/vulkan/icd.d/lvp_icd*.json'))
SKIP = 77


def environment(**settings):
    return {**os.environ, 'VK_ICD_FILENAMES': DRIVERS[0], 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': 'a.sbt', **settings}


def record(*words, **settings):
    subprocess.run([BUILD / words[0], *words[1:]], env=environment(**settings), stdout=subprocess.DEVNULL, check=True, timeout=60)
    return 'a.sbt'


def check_order(number):
    return Critical(TOOL, record('vk_order', str(number), TS_GPU_TIME='1'), ('vk',)).check()


def check_frames():
    """What presents has no time, and what waits for the queue does not wait for that."""
    if not shutil.which('vkcube') or not shutil.which('xvfb-run'):
        return
    program = ['xvfb-run', '-a', 'env', f'LD_PRELOAD={CAPTURE}', 'vkcube', '--c', '40', '--present_mode', '0']
    settings = {name: value for name, value in environment(TS_GPU_TIME='1', TS_OUTPUT='frames.sbt').items() if name != 'LD_PRELOAD'}
    subprocess.run(program, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
    c = Critical(TOOL, 'frames.sbt', ('vk',), presents=('vkQueuePresentKHR',))
    print('frames', c.check())
    fences = [row for row in c.answer['waits'] if row['call'] == 'vkWaitForFences' and row['redundant']]
    assert len(fences) < 20 or sum(row['for'] is not None for row in fences) > len(fences) // 2, fences


def check_devices():
    """Two threads use a device each: what one waits for is not what the other does."""
    c = Critical(TOOL, record('vk_two', TS_GPU_TIME='1'), ('vk',))
    c.check()
    devices = c.answer['devices']
    assert len(devices) == 2 and devices[0]['device'] != devices[1]['device'] and len({piece['thread'] for piece in c.answer['pieces']}) > 1, devices
    print('devices', [device['idle_ns'] for device in devices])


def check_untimed():
    Critical(TOOL, record('vk_order', '3'), ('vk',)).check()
    answer = critical(TOOL, record('vk_waits'), '--list')
    check_cover(answer)
    assert {piece['cause'] for piece in answer['pieces']} == {'call', 'wait', 'host before'} and not answer['timed_count'], answer['critical_path']
    assert 'no time' in {row['cause'] for row in answer['devices'][0]['idle']}, answer['devices']
    assert all(row['for'] is None for row in answer['waits'] if row['call'] in ('vkQueueWaitIdle', 'vkDeviceWaitIdle')), answer['waits']
    note, text = notes(TOOL, 'a.sbt')
    assert 'none of 7 commands' in note and 'tsrecord --gpu-time=1' in note and ' as recorded\n' in text, (note, text)


def check_killed(way):
    settings = environment(VK_ICD_FILENAMES=str(BUILD / 'vk_driver.json'), TS_TEST_DRIVER='queues')
    with subprocess.Popen([BUILD / 'vk_hangs', way], env=settings, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == 'hangs\n'
        try:
            program.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
    answer = critical(TOOL, 'a.sbt', '--list')
    check_cover(answer)
    assert answer['unfinished_count'] >= 2 and 'graph --hang' in notes(TOOL, 'a.sbt')[0], answer['unfinished_count']
    assert 'not finished' in {row['cause'] for device in answer['devices'] for row in device['idle']}, answer['devices']


def check_lost():
    settings = {'VK_ICD_FILENAMES': str(BUILD / 'vk_driver.json'), 'TS_TEST_DRIVER': 'queues,lost=3'}
    answer = critical(TOOL, record('vk_hangs', 'lost', **settings), '--list')
    check_cover(answer)
    assert answer['unfinished_count'] == 2, answer


def check_both():
    """CUDA's part is simulated as ever; Vulkan's is beside it, with stacks of both. Without Vulkan there is none."""
    trace = record('vk_and_cuda', TS_GPU_TIME='1', LD_LIBRARY_PATH=os.environ['TS_TEST_EMU'])
    done = subprocess.run([TOOL, 'critical', '--json', '--list', trace], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    check_cover(answer['loose'])
    assert answer['command_count'] == 2 and answer['passed_count'] == 0 and answer['loose']['command_count'] == 2, answer
    assert sum(row['total_ns'] for row in answer['critical_path']) == answer['span_ns'] > 0, answer
    assert [row['device'].split()[0] for row in answer['loose']['devices']] == ['vulkan'] and len(answer['devices']) == 1, answer
    calls = {stack['call'] for stack in answer['stacks']}
    assert {'cu', 'vk'} == {call[:2] for call in calls}, calls
    text = notes(TOOL, trace)[1]
    assert text.count('\nthe critical path\n') == 2 and ', simulated\n' in text and ', as recorded\n' in text, text


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    if not DRIVERS:
        sys.exit(SKIP)
    found = [check_order(number) for number in range(first, first + count)]
    print(found)
    # A host that is late waits for nothing: what is on the path is a matter of luck, in one of them.
    assert sum(ran for ran, _, _ in found) > 4 * count and sum(table for _, _, table in found) > 2 * count, found
    check_top(TOOL, record('vk_order', '3', TS_GPU_TIME='1'))
    check_frames()
    check_devices()
    check_untimed()
    for way in ('crossed', 'behind', 'open'):
        check_killed(way)
    check_lost()
    check_both()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
