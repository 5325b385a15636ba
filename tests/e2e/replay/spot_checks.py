#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spot checks: hashes of memory that are recorded by default on the software GPU. They cost the program nothing that it could see, bound
what is read, and are results where a trace has no others."""

import json
import os
import pathlib
import sys
import tempfile

from recorded import BIN, EMU, PROGRAMS, record, run

SPOT = 'spot'
MIB = 1 << 20
WINDOW = 64 * MIB


def records(trace):
    done = run([BIN / 'tracesmith', 'view', '--json', trace])
    assert done.returncode == 0, done
    return [r for r in map(json.loads, done.stdout.splitlines()) if 'call' in r]


def checksums(trace):
    return [r for r in records(trace) if r['call'] == 'checksum']


def spots(trace):
    return [r for r in checksums(trace) if SPOT in r['flags']]


def replay(trace, *options, **settings):
    done = run([BIN / 'tracesmith', 'replay', '--json', '--device', 'emu', *options, trace], **settings)
    return done, json.loads(done.stdout.splitlines()[-1])


def altered(trace, *action):
    altered.count += 1
    copy = f'altered-{altered.count}.sbt'
    done = run([PROGRAMS / 'alter_trace', trace, copy, *action])
    assert done.returncode == 0, done
    return copy


altered.count = 0


def wrong_spot(trace):
    """A copy with a spot check that says something else: of fewer bytes."""
    spot = spots(trace)[-1]
    return altered(trace, 'slot', str(spot['seq']), f'3:{spot["args"]["size"] - 4}')


def check_settings():
    """Which settings have them, and that no other hash is one."""
    for number, (settings, wants_spots, wants_others) in enumerate((
            ({'TS_CHECKSUM': 'auto'}, True, False), ({'TS_CHECKSUM': 'off'}, False, False), ({'TS_CHECKSUM': '0'}, False, False),
            ({'TS_CHECKSUM': 'sync'}, False, True), ({'TS_CHECKSUM': 'command'}, False, True),
            ({'TS_CHECKSUM': 'auto', 'TS_READBACK': 'off'}, False, False), ({'TS_CHECKSUM': 'auto', 'TS_EMU_EXACT': '0'}, False, False),
            ({'TS_CHECKSUM': 'auto', 'TS_EMU_POISON': '7'}, False, False), ({'TS_CHECKSUM': 'auto', 'TS_EMU_TIME': 'virtual'}, True, False),
            ({'TS_CHECKSUM': 'auto', 'TS_EMU_STREAMS': 'serial'}, True, False), ({'TS_CHECKSUM': 'auto', 'TS_CONTENTS': '0'}, True, False))):
        trace = record(f'setting-{number}.sbt', 'saxpy', **settings)
        have_spots, all_of_them = spots(trace), checksums(trace)
        assert bool(have_spots) == wants_spots, (settings, have_spots)
        assert (len(all_of_them) > len(have_spots)) == wants_others, (settings, all_of_them)


def check_default():
    """TS_CHECKSUM not set is auto."""
    settings = {key: value for key, value in os.environ.items() if key != 'TS_CHECKSUM'}
    os.environ.clear()
    os.environ.update(settings)
    assert spots(record('default.sbt', 'saxpy'))
    os.environ['TS_CHECKSUM'] = 'auto'


def check_output():
    """The program sees nothing of it, and a replay gives the same."""
    for words in (['saxpy'], ['pipeline', '3'], ['threads'], ['functions'], ['graphs'], ['captures'], ['values'], ['pools'],
                  ['managed'], ['rounds'], ['staging'], ['twins'], ['releases'], ['conditional'], ['ends', '600']):
        plain = run([PROGRAMS / words[0], *words[1:]], LD_LIBRARY_PATH=str(EMU))
        name = f'output-{words[0]}.sbt'
        recorded = run([PROGRAMS / words[0], *words[1:]], LD_LIBRARY_PATH=str(EMU), LD_PRELOAD=os.environ['TEST_CAPTURE'],
                       TS_OUTPUT=name)
        assert (plain.returncode, plain.stdout) == (recorded.returncode, recorded.stdout), words
        done, result = replay(name)
        assert done.returncode == 0 and result['verdict'] == 'same' and not result['spot_difference_count'], (words, result)


def check_times():
    """In virtual time all commands have the times, and the order, that they have without."""
    for words in (['pipeline', '2'], ['rounds'], ['spread']):
        seen = []
        for how in ('off', 'auto'):
            queue = pathlib.Path(f'queue-{how}')
            queue.unlink(missing_ok=True)
            trace = record(f'times-{words[0]}-{how}.sbt', *words, TS_CHECKSUM=how, TS_EMU_TIME='virtual', TS_GPU_TIME='1',
                           TS_EMU_QUEUE=str(queue))
            times = [r['args'] for r in records(trace) if r['call'] == 'gpu_time']
            assert times, words
            seen.append((times, [line.split()[0] for line in queue.read_text().splitlines()]))
        assert seen[0] == seen[1], words
        assert spots(trace), words


def check_bounds():
    """What is read is bounded, and yet comes to all of the memory: waits x size of memory."""
    for mib, waits in ((1, 40), (3, 40), (100, 40), (200, 9)):
        trace = record(f'bounds-{mib}-{waits}.sbt', 'spots', str(mib), str(waits))
        ranges = [(int(r['args']['address'], 16), r['args']['size']) for r in spots(trace)]
        moments = waits.bit_length() + waits * MIB // min(mib * MIB, WINDOW)
        assert max(size for _, size in ranges) <= WINDOW, ranges
        assert sum(size for _, size in ranges) <= moments * (min(mib * MIB, WINDOW) + 16), (mib, waits, ranges)
        begin = min(address for address, _ in ranges)
        covered = {(address - begin) // WINDOW for address, _ in ranges}
        assert covered >= set(range((mib * MIB + WINDOW - 1) // WINDOW)), (mib, ranges)
        done, result = replay(trace)
        assert done.returncode == 0 and result['verdict'] == 'same' and result['spot_count'] == len(ranges), result


def check_verdicts():
    """Where there are no other results they are the results: right and wrong devices, right and wrong hashes."""
    trace = record('alone.sbt', 'spots', '1', '3')
    done, result = replay(trace)
    assert result['verdict'] == 'same' and result['checksum_count'] == result['spot_count'] > 0, result
    assert replay(wrong_spot(trace), '--once')[1]['verdict'] == 'different'
    kernels = record('kernels.sbt', 'saxpy')
    alone = altered(kernels, 'remove', str(next(r['seq'] for r in records(kernels) if r['call'] == 'readback')))
    assert replay(alone)[1]['verdict'] == 'same'
    for settings in ({'TS_EMU_NOOP': '1'}, {'TS_EMU_DROP': '50:3'}):
        done, result = replay(alone, '--once', **settings)
        assert done.returncode == 1 and result['verdict'] == 'different' and result['differences'], (settings, result)
    off = record('off.sbt', 'spots', '1', '3', TS_CHECKSUM='off')
    assert replay(off)[1]['verdict'] == 'nothing_to_compare'


def check_beside_results():
    """Beside other results they are told, and count in no verdict."""
    trace = wrong_spot(record('beside.sbt', 'spots', '1', '3', 'read'))
    done, result = replay(trace)
    assert done.returncode == 0 and result['verdict'] == 'same', result
    assert (result['checksum_count'], result['spot_difference_count']) == (1, 1), result
    told = run([BIN / 'tracesmith', 'replay', '--device', 'emu', trace])
    assert told.returncode == 0 and '1 of ' in told.stderr and 'spot checks of memory differ' in told.stderr, told


def check_parts():
    """A part that holds only spot checks is no part without results; one before them is."""
    trace = record('parts.sbt', 'spots', '1', '8')
    first = spots(trace)[0]['seq']
    for options, verdict in ((['--range', f'0:{first + 1}'], 'same'), (['--range', f'{first + 1}:'], 'same'),
                             (['--range', f'0:{first}', '--once'], 'nothing_to_compare')):
        assert replay(trace, *options)[1]['verdict'] == verdict, (options, verdict)


def check_others():
    """tsdiff compares none of them; --check takes no wait for them, and its runs are compared as ever."""
    off, auto = (record(f'others-{how}.sbt', 'spots', '1', '5', 'read', TS_CHECKSUM=how) for how in ('off', 'auto'))
    for a, b in ((off, auto), (auto, off), (auto, wrong_spot(auto))):
        done = run([BIN / 'tracesmith', 'diff', '--json', a, b])
        assert done.returncode == 0, (a, b, done)
    done = run([BIN / 'tracesmith', 'replay', '--json', '--check=1', '--device', 'emu', wrong_spot(auto)])
    assert done.returncode == 0, done
    for trace in (off, auto):
        done = run([BIN / 'tracesmith', 'check', trace])
        assert done.returncode == 0, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ['TS_CHECKSUM'] = 'auto'
        os.environ['TS_TEST_PTX'] = str(PROGRAMS / 'kernels.ptx')
        for name, case in list(globals().items()):
            if name.startswith('check_') and (len(sys.argv) < 2 or sys.argv[1] == name):
                case()


main()
