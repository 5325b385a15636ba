# SPDX-License-Identifier: Apache-2.0
"""`tracesmith critical` of HSA. usage: critical_hsa.py FIRST COUNT

Programs made of a number (hsa_random), and others: the path, idle times and single waits are those of a computation of their own. Also without times, and of
a program that was killed. Meson sets TEST_BIN, TEST_CAPTURE, TEST_EMU, TEST_PROGRAMS."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose_critical import Critical, check_cover, check_top, critical, notes  # noqa: E402

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
TOOL = BIN / 'tracesmith'
PREFIXES, MARKS, BLOCKING = ('hsa_', 'aql_'), ['aql_barrier'], ('hsa_memory_copy', 'hsa_amd_memory_fill')
PROGRAMS_RUN = ('hsa_dispatch', 'hsa_pipeline', 'hsa_queues', 'hsa_threads', 'hsa_gated', 'hsa_rounds')


def command(program, *words):
    return [PROGRAMS / program, PROGRAMS / 'hsa_kernels.hsaco', *words]


def environment(**settings):
    return {**os.environ, 'LD_LIBRARY_PATH': str(EMU), 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': 'a.sbt', **settings}


def record(*words, **settings):
    subprocess.run(command(*words), env=environment(**settings), stdout=subprocess.DEVNULL, check=True, timeout=60)
    return 'a.sbt'


def check_program(*words):
    return Critical(TOOL, record(*words, TS_GPU_TIME='1'), PREFIXES, MARKS, BLOCKING).check()


def check_untimed():
    """Without times the path is that of the calls, and while commands may have run nothing is said of the device."""
    Critical(TOOL, record('hsa_gated', 'barrier'), PREFIXES, MARKS, BLOCKING).check()
    answer = critical(TOOL, record('hsa_rounds'), '--list')
    check_cover(answer)
    assert {piece['cause'] for piece in answer['pieces']} == {'call', 'wait', 'host before'} and not answer['timed_count'], answer['critical_path']
    assert 'no time' in {row['cause'] for row in answer['devices'][0]['idle']}, answer['devices']
    note, text = notes(TOOL, 'a.sbt')
    assert 'none of' in note and 'tsrecord --gpu-time=1' in note and ' as recorded\n' in text, (note, text)


def check_killed(**settings):
    """Two queues wait for each other until the end: the last call has not returned, and the device may be doing something."""
    with subprocess.Popen(command('hsa_hangs', 'crossed'), env=environment(**settings), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == 'hangs\n'
        try:
            program.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
    answer = critical(TOOL, 'a.sbt', '--list')
    check_cover(answer)
    assert answer['unfinished_count'] >= 4 and 'graph --hang' in notes(TOOL, 'a.sbt')[0], answer['unfinished_count']
    assert 'not finished' in {row['cause'] for device in answer['devices'] for row in device['idle']}, answer['devices']


def check_others():
    """--memory is for a simulation, --slack is not."""
    note, text = notes(TOOL, record('hsa_rounds', TS_GPU_TIME='1'), '--slack', '--memory')
    assert '--memory is for' in note and 'how much later commands could have ended' in text, (note, text)
    check_top(TOOL, 'a.sbt')


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = [check_program('hsa_random', str(number)) for number in range(first, first + count)]
    found += [check_program(program) for program in PROGRAMS_RUN]
    print(found)
    assert sum(ran for ran, _, _ in found) > 40 and sum(waits for _, waits, _ in found) > 100 and any(waits for _, _, waits in found[:count]), found
    check_untimed()
    check_killed()
    check_killed(TS_GPU_TIME='1')
    check_others()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
