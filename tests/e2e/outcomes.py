#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsview --states` of programs whose commands fail or never end: what is known is said, what is not known is not guessed, and no such
command passes for finished. Programs whose commands all finish have none, with times and without."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

BIN, CAPTURE, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'PROGRAMS'))
ENDLESS = ('not finished', 'failed', 'may have failed')
WHOLE = (['saxpy'], ['streams'], ['pipeline'], ['graphs'], ['threads'], ['captures'], ['rounds'])


def environment(**settings):
    return {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': 'a.sbt', 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx'), **settings}


def states():
    done = subprocess.run([BIN / 'tracesmith', 'view', '--states', '--json', 'a.sbt'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def record(*words, **settings):
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment(**settings), stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    return states()


def record_killed(*words, said, **settings):
    """The program says a word before it hangs."""
    with subprocess.Popen([PROGRAMS / words[0], *words[1:]], env=environment(**settings), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline().strip() == said
        try:
            program.wait(timeout=0.5)
            raise AssertionError('it ended')
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGKILL)
    return states()


def ends(answer):
    """(name, state, reason, name of what it waits for) of each command that has not finished, in order."""
    names = {row['seq']: row['name'] for row in answer['commands']}
    rows = [row for row in answer['commands'] if row['state'] in ENDLESS]
    assert all(row['end_ns'] == answer['end_ns'] for row in rows), rows
    assert len({row['seq'] for row in rows}) == len(rows), 'a command that has not finished has another state, too'
    return [(row['name'], row['state'], row['reason'], names.get(row['by'])) for row in rows]


def check_streams(answer):
    """The state of a stream is that of its first command that has not finished, until the end."""
    found = {row['of']: row for row in answer['streams'] if row['state'] in ENDLESS}
    for row in answer['streams']:
        if row['of'] in found:
            assert row['begin_ns'] <= found[row['of']]['begin_ns'], row
    commands = {row['seq']: row for row in answer['commands'] if row['state'] in ENDLESS}
    for row in found.values():
        assert row['state'] == commands[row['seq']]['state'] and row['end_ns'] == answer['end_ns'], row
    return len(found)


def check_failure(answer, candidates):
    """One call said so; it names the command if it can be one alone."""
    failure, = answer['failures']
    assert failure['result'] == 'CUDA_ERROR_ILLEGAL_ADDRESS' and failure['call'] == 'cuStreamSynchronize', failure
    assert failure['candidates'] == candidates and (failure['command'] is not None) == (candidates == 1), failure
    assert check_streams(answer) > 0


FAILED = ('write_wild', 'failed', None, None)


def check_failed(**settings):
    for way in ('alone', 'other'):
        answer = record('fails', way, **settings)
        assert ends(answer) == [FAILED], (way, ends(answer))
        check_failure(answer, 1)
    answer = record('fails', 'behind', **settings)
    assert ends(answer) == [('write_wild', 'may have failed', None, None), ('fill', 'may have failed', None, None),
                            ('cuEventRecord', 'not finished', 'failure', None)], ends(answer)
    check_failure(answer, 2)
    assert not answer['rejected']


def check_among():
    """Nobody has waited for the kernels that did not fail; times say that they ran, if there are any."""
    answer = record('fails', 'among')
    assert ends(answer) == [(name, 'may have failed', None, None) for name in ('fill', 'fill', 'write_wild')], ends(answer)
    check_failure(answer, 3)


def check_rejected():
    answer = record('fails', 'rejected')
    row, = answer['rejected']
    assert row['call'] == 'cuLaunchKernel' and row['result'] == 'CUDA_ERROR_INVALID_VALUE' and row['stream'] == 1, row
    assert not ends(answer) and not answer['failures']
    answer = record('fails', 'unwaited')
    assert ends(answer) == [('fill', 'not finished', 'unknown', None)], ends(answer)


def check_reset():
    """What is waited for in the context that was made again says nothing of the one that failed."""
    answer = record('faults', 'reset', 'wild')
    assert ends(answer) == [('may_fail', 'failed', None, None)], ends(answer)
    check_failure(answer, 1)


def check_hung():
    answer = record_killed('fails', 'forever', said='sent', TS_GPU_TIME='1')
    assert ends(answer) == [('forever', 'not finished', 'running', None), ('cuEventRecord', 'not finished', 'stream', 'forever'),
                            ('cuStreamWaitEvent', 'not finished', 'event', 'cuEventRecord'),
                            ('fill', 'not finished', 'stream', 'cuStreamWaitEvent')], ends(answer)
    assert check_streams(answer) == 2
    answer = record_killed('hangs', 'crossed', said='hangs')
    stream = [('cuStreamWaitValue32_v2', 'not finished', 'value', None), ('fill', 'not finished', 'stream', 'cuStreamWaitValue32_v2'),
              ('cuStreamWriteValue32_v2', 'not finished', 'stream', 'fill')]
    assert ends(answer) == stream + stream, ends(answer)


def check_text():
    record('fails', 'behind')
    text = subprocess.run([BIN / 'tracesmith', 'view', '--states', 'a.sbt'], capture_output=True, text=True, check=True).stdout
    assert 'may have failed' in text and 'CUDA_ERROR_ILLEGAL_ADDRESS' in text and 'failures' in text, text


def main():
    for settings in ({}, {'TS_GPU_TIME': '1'}, {'TS_GPU_TIME': '1', 'TS_EMU_TIME': 'virtual'}):
        check_failed(**settings)
        for words in WHOLE:
            answer = record(*words, **settings)
            assert not ends(answer) and not answer['failures'], (words, settings, ends(answer))
    check_among()
    check_rejected()
    check_reset()
    check_hung()
    check_text()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(0)
