#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reruns of a replay: why it differs from the recording, and memory of parts that hold nothing to compare; and, without them, what the
message about such a part says."""

import json
import os
import re
import sys
import tempfile

from recorded import BIN, PROGRAMS, record, run

SAME, DIFFERENT, CANNOT_TELL, NOTHING = 'same', 'different', 'cannot_tell', 'nothing_to_compare'
REVERSE = {'TS_EMU_STREAMS': 'serial', 'TS_EMU_SCHEDULE': 'reverse'}
FIFO = {'TS_EMU_STREAMS': 'serial', 'TS_EMU_SCHEDULE': 'fifo'}


def records(trace):
    done = run([BIN / 'tracesmith', 'view', '--json', trace])
    return [r for r in map(json.loads, done.stdout.splitlines()) if 'call' in r]


def replay(trace, *options, **settings):
    done = run([BIN / 'tracesmith', 'replay', '--json', '--device', 'emu', *options, trace], **settings)
    result = json.loads(done.stdout.splitlines()[-1])
    assert 'error' not in result, (trace, options, settings, done)
    assert done.returncode == [SAME, DIFFERENT, CANNOT_TELL, NOTHING].index(result['verdict']), result
    return result


def command(trace, seq):
    return next(r for r in records(trace) if r['seq'] == seq)


def check_kernel():
    """Kernels that compute something else are named, whatever is wrong with them, and whatever order they have."""
    for words in (['saxpy'], ['wrong', 'atomic'], ['streams'], ['twins'], ['graphs']):
        trace = record(f'kernel-{"-".join(words)}.sbt', *words)
        for settings in ({'TS_EMU_NOOP': '1'}, {'TS_EMU_DROP': '60:3'}, {'TS_EMU_NOOP': '1', **FIFO}):
            result = replay(trace, **settings)
            if result['verdict'] != DIFFERENT:
                continue
            explained = result['explanation']
            assert explained['cause'] == 'kernel' and explained['why'].startswith(('the kernel itself', 'the command itself' if words[0] == 'graphs' else 'the kernel itself')), (words, settings, result)
            named = command(trace, explained['seq'])
            assert named['call'] in ('cuLaunchKernel', 'cuGraphLaunch') or words[0] == 'graphs', (words, named)
            assert str(explained['seq']) in explained['why'], explained
    result = replay('kernel-saxpy.sbt', TS_EMU_NOOP='1')
    assert 'saxpy' in result['explanation']['why'], result
    # A launch of a graph may have written any memory: what wrote it before is not blamed.
    trace = record('graph.sbt', 'spots', '1', '1', 'graph', TS_CHECKSUM='auto')
    explained = replay(trace, TS_EMU_NOOP='1')['explanation']
    assert explained['cause'] == 'kernel' and command(trace, explained['seq'])['call'] == 'cuGraphLaunch', explained
    # Commands that may conflict without an order may be the reason, too, where all orders that were tried give the same.
    explained = replay(record('kernel-weave.sbt', 'weave'), TS_EMU_NOOP='1')['explanation']
    assert explained['cause'] == 'unknown' and explained['why'].startswith('unordered work, or the kernel itself: record'), explained
    assert explained['seq'] > explained['other_seq'], explained
    # The order of blocks is the kernel's own affair.
    result = replay(record('blocks.sbt', 'wrong', 'atomic', **FIFO), **REVERSE)
    assert result['verdict'] == DIFFERENT and result['explanation']['cause'] == 'kernel', result


def until_different(trace, **settings):
    """What commands that nothing orders give is chance: a replay of several that differs, and what it says as text."""
    for _ in range(30):
        result = replay(trace, **settings)
        if result['verdict'] == DIFFERENT:
            break
    else:
        raise AssertionError(f'{trace}: always the same')
    for _ in range(30):
        told = run([BIN / 'tracesmith', 'replay', '--device', 'emu', trace], **settings)
        if told.returncode == 1:
            return result, told.stderr
    raise AssertionError(f'{trace}: always the same')


def check_unordered():
    """Commands that nothing orders are named, both; with the order that lacks, there is no difference."""
    for observed in ('0', '1'):
        trace = record(f'wait-{observed}.sbt', 'wrong', 'wait', TS_ACCESSES=observed, **FIFO)
        result, told = until_different(trace, **REVERSE)
        explained = result['explanation']
        assert explained['cause'] == 'unordered', result
        pair = [command(trace, explained[key]) for key in ('other_seq', 'seq')]
        assert [r['call'] for r in pair] == ['cuLaunchKernel'] * 2 and pair[0]['stream'] != pair[1]['stream'], pair
        # What the device saw is said to be so.
        assert (' use memory' if observed == '1' else ' may use memory') in explained['why'], explained
        assert 'unordered work: record' in told, told
    fixed = record('fixed.sbt', 'wrong', 'wait', 'fixed', **FIFO)
    for _ in range(3):
        assert replay(fixed, **REVERSE)['verdict'] == SAME


def check_switched_off():
    """--once runs the trace once; ways of replay that have an order of their own do, too."""
    trace = record('once.sbt', 'saxpy')
    for options in (['--once'], ['--pace=stepped'], ['--order=permuted'], ['--order=delayed'], ['--once', '--keep-going']):
        result = replay(trace, *options, TS_EMU_NOOP='1')
        assert result['verdict'] == DIFFERENT and 'explanation' not in result, (options, result)
    assert 'explanation' not in replay(trace)


def check_silent():
    """What kernels print comes once, and not into --json."""
    trace = record('prints.sbt', 'prints')
    end = records(trace)[-1]['seq']
    for options in ([], ['--json']):
        done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--range', f'0:{end}', *options, trace])
        assert (done.stdout + done.stderr).count('line of 0') == 1, done
        assert not options or json.loads(done.stdout)['verdict'] == NOTHING, done


def check_part_memory():
    """Parts × programs × streams × damage: no part differs from a full replay on the same device, and what does is seen."""
    counts = {}
    for words in (['pipeline', '2'], ['streams'], ['threads'], ['weave']):
        trace = record(f'part-{words[0]}.sbt', *words)
        shown = records(trace)
        streams = sorted({r['stream'] for r in shown if isinstance(r['stream'], int)})
        for end in range(12, len(shown), max(1, len(shown) // 5)):
            for chosen in ([], ['--streams', str(streams[end % len(streams)])]):
                for settings in ({}, {'TS_EMU_DROP': '40:2'}):
                    result = replay(trace, '--range', f'{end // 3}:{end}', *chosen, **settings)
                    part = result.get('part_memory')
                    if part:
                        assert part['compared_with'] == 'full_replay' and part['compared_count'] > 0, result
                        assert bool(part['differing_count']) == (result['verdict'] != SAME), result
                        assert result['verdict'] != DIFFERENT or not chosen, result
                    assert settings or result['verdict'] in (SAME, NOTHING), (words, end, chosen, result)
                    key = (bool(part), result['verdict'], bool(settings))
                    counts[key] = counts.get(key, 0) + 1
    assert counts.get((True, SAME, False), 0) > 4, counts
    assert counts.get((True, CANNOT_TELL, True), 0) + counts.get((True, DIFFERENT, True), 0) > 0, counts


def check_part_text():
    trace = record('text.sbt', 'saxpy')
    first = next(r['seq'] for r in records(trace) if r['call'] == 'readback')
    told = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--range', f'0:{first}', trace])
    assert told.returncode == 0 and 'same as a full replay of this trace' in told.stdout, told
    assert 'the recording holds nothing to compare in this part' in told.stderr, told


def nearest(trace, *options):
    """The option that the message names."""
    result = replay(trace, '--once', *options)
    assert result['verdict'] == NOTHING and '--checksum=sync' in result['why'], result
    return result['why'], re.search(r'--range=[0-9]*:[0-9]*|add stream [0-9]+', result['why'])


def check_nearest():
    """The message names the nearest result, its command, and an option that has it: followed, it leads to a comparison."""
    for words in (['saxpy'], ['pipeline', '2'], ['copies'], ['rounds', '4']):
        trace = record(f'nearest-{words[0]}.sbt', *words)
        shown = records(trace)
        results = [r['seq'] for r in shown if r['call'] == 'readback']
        for begin, end in ((0, results[0]), (results[-1] + 1, ''), (results[0] + 1, results[0] + 2)):
            result = replay(trace, '--once', '--range', f'{begin}:{end}')
            if result['verdict'] != NOTHING:
                continue
            why, option = nearest(trace, '--range', f'{begin}:{end}')
            assert option and re.search(r'record [0-9]+, of cu\w+ \(record [0-9]+\)', why), (words, begin, end, why)
            assert replay(trace, '--once', option.group())['verdict'] == SAME, (words, why)
    trace = 'nearest-pipeline.sbt'
    streams = {r['args']['of_stream'] for r in records(trace) if r['call'] == 'readback'}
    other = next(r['stream'] for r in records(trace) if isinstance(r['stream'], int) and r['stream'] not in streams)
    why, option = nearest(trace, '--streams', str(other))
    assert option.group() == f'add stream {min(streams)}', why
    assert replay(trace, '--once', '--streams', f'{other},{min(streams)}')['verdict'] == SAME


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ['TS_TEST_PTX'] = str(PROGRAMS / 'kernels.ptx')
        for name, case in list(globals().items()):
            if name.startswith('check_') and (len(sys.argv) < 2 or sys.argv[1] == name):
                case()


main()
