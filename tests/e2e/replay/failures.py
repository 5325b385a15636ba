#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose kernels fail on the device replay as they were recorded: the same error, by a command that can have failed in the
recording. Another error, another command, or none, is a difference. Nothing that was computed before is lost, nor in other contexts."""

import json
import os
import pathlib
import re
import sys
import tempfile

from recorded import BIN, PROGRAMS, record, run

ERRORS = {'trap': 'CUDA_ERROR_LAUNCH_FAILED', 'assert': 'CUDA_ERROR_ASSERT', 'wild': 'CUDA_ERROR_ILLEGAL_ADDRESS',
          'odd': 'CUDA_ERROR_MISALIGNED_ADDRESS', 'stuck': 'CUDA_ERROR_LAUNCH_TIMEOUT'}
KINDS = ['none', *ERRORS]
WAYS = ['plain', 'late', 'graph', 'event', 'copy', 'launch', 'query', 'other', 'many', 'reset', 'aborts']
SAME, DIFFERENT, CANNOT_TELL, NOTHING = range(4)


def replay(trace, *options, **settings):
    done = run([BIN / 'tracesmith', 'replay', '--json', '--device', 'emu', '--once', '--timeout', '30', *options, trace], **settings)
    answer = json.loads(done.stdout)
    answer['status'] = done.returncode
    return answer


def calls(trace):
    shown = run([BIN / 'tracesmith', 'view', '--json', trace])
    return [r for r in map(json.loads, shown.stdout.splitlines()) if 'call' in r]


def launches(trace):
    """Records of kernels that were sent."""
    return [r['seq'] for r in calls(trace) if r['call'] == 'cuLaunchKernel' and 'failed' not in r.get('flags', [])]


def altered(trace, *action):
    altered.count += 1
    name = f'altered-{altered.count}.sbt'
    done = run([PROGRAMS / 'alter_trace', trace, name, *action])
    assert done.returncode == 0, done
    return name


altered.count = 0


def with_kind(trace, launch, kind, seed=1):
    """A launch fails in another way: the second word of the arguments has seed and kind."""
    return altered(trace, 'argument', launch, f'1:{seed + (KINDS.index(kind) << 32)}')


def check_same(answer, error, checksums, failures=1):
    assert answer['status'] == SAME and answer['verdict'] == 'same', answer
    assert answer['failure_count'] == failures and answer['checksum_count'] == checksums + failures, answer
    assert answer['failure'].startswith(f'{error} of ' if failures else ''), answer
    assert not answer['fails_otherwise'] and not answer['differences'], answer


def check_ways():
    for way in WAYS:
        trace = record(f'{way}.sbt', 'faults', way, 'assert', statuses=(-6,) if way == 'aborts' else (0,))
        check_same(replay(trace), ERRORS['assert'], 2 if way in ('other', 'reset') else 1)
        # A driver that does not say which command has failed.
        check_same(replay(trace, TS_EMU_EXACT='0'), ERRORS['assert'], 2 if way in ('other', 'reset') else 1)
    for kind, error in ERRORS.items():
        trace = record(f'plain-{kind}.sbt', 'faults', 'plain', kind)
        answer = replay(trace)
        check_same(answer, error, 1)
        assert re.search('record [0-9]+, cuLaunchKernel of may_fail, which record [0-9]+, cuStreamSynchronize, said', answer['failure'])
    for way in ('alone', 'behind', 'among', 'other'):
        check_same(replay(record(f'fails-{way}.sbt', 'fails', way)), ERRORS['wild'], 0)


def check_threads():
    """What another thread read may have come before the failure in the recording, and not in the replay: then it is not compared."""
    for i in range(4):
        trace = record(f'threads-{i}.sbt', 'faults', 'threads', 'trap')
        for settings in ({}, {'TS_EMU_EXACT': '0'}):
            answer = replay(trace, '-k', **settings)
            assert answer['status'] in (SAME, CANNOT_TELL) and not answer['differences'] and not answer['fails_otherwise'], answer
            assert answer['status'] == SAME or answer['uncompared_count'], answer


def check_watchdog():
    """A launch that takes too long, by TS_EMU_TIMEOUT: the replay needs that, too."""
    record('forever.sbt', 'fails', 'forever', statuses=(1,), TS_EMU_TIMEOUT='0.5')
    check_same(replay('forever.sbt', TS_EMU_TIMEOUT='0.5'), ERRORS['stuck'], 0)
    answer = replay('forever.sbt', '--timeout', '1')
    assert answer['status'] == 2 and 'no progress for 1 s' in answer['error'], answer


def check_checksums():
    """What was recorded before the failure says that commands are complete, which leaves fewer that can have failed."""
    for grain, known in (('sync', False), ('submit', True)):
        trace = record(f'late-{grain}.sbt', 'faults', 'late', 'assert', TS_CHECKSUM=grain)
        answer = replay(trace)
        assert answer['status'] == SAME and answer['failure_count'] == 1 and answer['checksum_count'] > 3, answer
        assert ('one of' in answer['failure']) != known, answer


def check_options():
    for way in ('late', 'other', 'many'):
        for options in (['--order=permuted:1'], ['--order=permuted:2'], ['--order=delayed:1'], ['--pace=stepped'], ['--grain=sync'],
                        ['--grain=command']):
            check_same(replay(f'{way}.sbt', *options), ERRORS['assert'], 2 if way == 'other' else 1)
        for settings in ({'TS_EMU_STREAMS': 'serial'}, {'TS_EMU_TIME': 'virtual'}):
            check_same(replay(f'{way}.sbt', **settings), ERRORS['assert'], 2 if way == 'other' else 1)
    assert replay('late.sbt', '--loop=3')['status'] == SAME
    answer = replay('late.sbt', '--check=1')
    assert answer['status'] == SAME and all(arm['verdict'] == 'same' for arm in answer['arms']), answer
    seqs = [r['seq'] for r in calls('late.sbt') if r['stream'] is not None and 'failed' not in r.get('flags', [])]
    pathlib.Path('s.txt').write_text('tsschedule 1\n' + ''.join(f'send {seq}\n' for seq in seqs if seq in launches('late.sbt')))
    answer = replay('late.sbt', '--schedule', 's.txt')
    assert answer['status'] in (SAME, CANNOT_TELL) and not answer.get('fails_otherwise'), answer


def check_difference(trace, said, *options, **settings):
    answer = replay(trace, *options, **settings)
    assert answer['status'] == DIFFERENT and answer['fails_otherwise'] and answer['failure'] == '', answer
    assert re.match(said, answer['why']), (said, answer)


def check_differences():
    """Each names what happened, and what was recorded."""
    for way in ('late', 'many', 'other'):
        sent = launches(f'{way}.sbt')
        bad, = [r['seq'] for r in calls(f'{way}.sbt') if r['seq'] in sent and is_bad(r['args']['arguments'])]
        recorded = r'; recorded: CUDA_ERROR_ASSERT of .*, which record [0-9]+, cuStreamSynchronize, said'
        earlier = with_kind(f'{way}.sbt', sent[0], 'assert')
        other = with_kind(f'{way}.sbt', bad, 'trap', 3)
        none = with_kind(f'{way}.sbt', bad, 'none', 3)
        check_difference(earlier, f'record {sent[0]}, cuLaunchKernel of may_fail gave CUDA_ERROR_ASSERT{recorded}')
        check_difference(earlier, f'record {sent[0]}, cuLaunchKernel of may_fail gave CUDA_ERROR_ASSERT{recorded}', '-k')
        check_difference(other, f'record {bad}, cuLaunchKernel of may_fail gave CUDA_ERROR_LAUNCH_FAILED{recorded}')
        check_difference(none, f'no command failed{recorded}')
        # Where nobody says which command failed, an earlier one is not taken for the recorded one.
        assert replay(earlier, TS_EMU_EXACT='0')['status'] == CANNOT_TELL
        check_difference(other, f'a command gave CUDA_ERROR_LAUNCH_FAILED{recorded}', TS_EMU_EXACT='0')
        check_difference(none, f'no command failed{recorded}', TS_EMU_EXACT='0')
        for trace in (earlier, other, none):
            answer = replay(trace, '--check=1')
            assert answer['status'] == DIFFERENT and [arm['arm'] for arm in answer['arms'] if arm['verdict'] != 'same'] == ['recording']
    assert replay('late.sbt', '-k', TS_EMU_NOOP='1')['fails_otherwise']
    # Without a record that says so, it is an error as ever.
    end = len(calls('aborts.sbt'))
    answer = replay(altered('aborts.sbt', 'head', end - 1))
    assert answer['status'] == 2 and 'CUDA_ERROR_ASSERT' in answer['error'], answer


def is_bad(arguments):
    return int.from_bytes(bytes.fromhex(arguments)[12:16], 'little') == KINDS.index('assert')


def check_ranges():
    """A part has the failure when it has the call that said so, or all commands that can have failed."""
    good, later = launches('plain.sbt')[:2]
    bad = launches('plain.sbt')[2]
    none = with_kind('plain.sbt', bad, 'none', 3)
    check_same(replay('plain.sbt', f'--range=0:{bad}'), '', 1, 0)
    check_same(replay('plain.sbt', f'--range=0:{bad + 1}'), ERRORS['assert'], 1)
    check_same(replay('plain.sbt', f'--range={later}:{bad + 2}'), ERRORS['assert'], 1)
    check_same(replay('plain.sbt', f'--range={bad}:{bad + 1}'), ERRORS['assert'], 0)
    check_same(replay(none, f'--range=0:{bad}'), '', 1, 0)
    check_difference(none, 'no command failed', f'--range=0:{bad + 1}')
    assert replay('plain.sbt', f'--range=0:{good + 1}')['status'] == NOTHING
    # Of three commands that can have failed not all are there: if one fails, well; if none does, nothing is said of it.
    first, bad, last = launches('late.sbt')[2:5]
    none = with_kind('late.sbt', bad, 'none', 3)
    for trace in ('late.sbt', none):
        check_same(replay(trace, f'--range=0:{first + 1}'), '', 1, 0)
        check_same(replay(trace, f'--range=0:{bad + 1}'), '', 1, 0)
    check_same(replay('late.sbt', f'--range=0:{last + 1}'), ERRORS['assert'], 1)
    check_difference(none, 'no command failed', f'--range=0:{last + 1}')
    done = run([BIN / 'tracesmith', 'trim', f'--range={first}:{last + 9}', '-o', 'trimmed.sbt', 'late.sbt'])
    assert done.returncode == 0, done
    check_same(replay('trimmed.sbt'), ERRORS['assert'], 0)


def check_streams():
    """The streams that the failing command is not on say nothing of it."""
    check_same(replay('other.sbt', '--streams=1'), ERRORS['assert'], 1)
    check_same(replay('other.sbt', '--streams=4'), '', 1, 0)
    assert replay('many.sbt', '--streams=3')['status'] == NOTHING


def check_text():
    done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', 'plain.sbt'])
    assert done.returncode == 0 and 'all 1 checksums equal, fails as recorded: CUDA_ERROR_ASSERT of record' in done.stdout, done
    done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', 'altered-1.sbt'])
    assert done.returncode == 1 and 'gave CUDA_ERROR_ASSERT; recorded: CUDA_ERROR_ASSERT of' in done.stdout, done


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_ways()
    check_threads()
    check_watchdog()
    check_checksums()
    check_options()
    check_differences()
    check_ranges()
    check_streams()
    check_text()
sys.exit(0)
