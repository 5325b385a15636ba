#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which verdict when.

verdict_test.py table PAGE       walks through the tables of docs/verdict.md: a case for each row
verdict_test.py removed          each command of sample traces removed, the rest numbered again
verdict_test.py graphs       commands beside launches of graphs that call functions removed, in traces and their parts
verdict_test.py twice        two recordings of programs that do not change, and with an address or object that leads elsewhere
verdict_test.py renumbered       commands at other places of their streams
verdict_test.py cut_records      each record of sample traces cut, unfinished or of an unknown type
verdict_test.py disabled         each command of sample traces disabled
verdict_test.py dropped          random subsets of the stores of kernels dropped
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import verdict_failures
import verdict_moved
import verdict_parts

BIN = pathlib.Path(os.environ['TEST_BIN'])
EMU = os.environ['TEST_EMU']
PROGRAMS = pathlib.Path(os.environ['TEST_PROGRAMS'])
TESTS = PROGRAMS.parent
CAPTURE = os.environ['TEST_CAPTURE']
SHARE = 1 if os.environ.get('TS_TEST_ALL') else 5  # one of so many records is altered
os.environ['TS_TEST_PTX'] = str(PROGRAMS / 'kernels.ptx')

SAME, DIFFERENT, CANNOT_TELL, NOTHING = 0, 1, 2, 3
NAMES = {'same': SAME, 'different': DIFFERENT, 'cannot tell': CANNOT_TELL, 'nothing to compare': NOTHING,
         'error': 'error', 'none': 'none'}
FAILED, TAINTS, TRUNCATED, UNFINISHED, LATE, HELD = 1, 2, 4, 8, 16, 128
CORE = {'readback': 2, 'checksum': 3}


class Skipped(Exception):
    pass


# ---- programs and traces -----------------------------------------------------------------------------


def run(command, **env):
    return subprocess.run([str(word) for word in command], env={**os.environ, **env}, capture_output=True,
                          text=True, timeout=300, check=False)


def record(name, *program, preload=CAPTURE, library=EMU, **env):
    """A trace of the program; always the same one for the same name."""
    trace = pathlib.Path(f'{name}.sbt')
    if not trace.exists():
        done = run(program, LD_LIBRARY_PATH=library, LD_PRELOAD=preload, TS_OUTPUT=str(trace), **env)
        assert done.returncode == 0 and trace.exists(), (program, done.stdout, done.stderr)
    return trace


def cuda(name, *arguments, **env):
    setting = '-'.join(f'{key[3:]}={value}' for key, value in env.items())
    return record('-'.join((name, *arguments)) + (f'-{setting}' if env else ''), PROGRAMS / name, *arguments, **env)


def hsa(name, *arguments, **env):
    folder = TESTS / 'hsa'
    if not (folder / name).exists():
        raise Skipped('HSA is not in this build')
    return record('-'.join((name, *arguments)), folder / name, folder / 'hsa_kernels.hsaco', *arguments, **env)


def vulkan(name, *arguments, **env):
    driver = '/usr/share/vulkan/icd.d/lvp_icd.x86_64.json'
    if not (TESTS / 'vulkan' / name).exists() or not os.path.exists(driver):
        raise Skipped('Vulkan is not here')
    os.environ['VK_ICD_FILENAMES'] = driver
    return record('-'.join((name, *arguments)), TESTS / 'vulkan' / name, *arguments, **env)


def altered(trace, *action):
    """A copy with one record altered: tests/programs/alter_trace.c."""
    altered.count += 1
    copy = pathlib.Path(f'altered-{altered.count}{"-vulkan" if VULKAN.search(str(trace)) else ""}.sbt')
    done = run([PROGRAMS / 'alter_trace', trace, copy, *action])
    assert done.returncode == 0, (action, done.stderr)
    return copy


altered.count = 0


def records(trace):
    shown = run([BIN / 'tracesmith', 'view', '--json', trace])
    return [r for r in map(json.loads, shown.stdout.splitlines()) if 'call' in r]


def find(trace, call, nth=0):
    """Number of the nth record of that call; from the end with a negative nth."""
    return [r['seq'] for r in records(trace) if re.fullmatch(call, r['call'])][nth]


VULKAN = re.compile('vk_|vulkan')


def replay(trace, *options, once='--once', **env):
    """(verdict or 'error' or 'none', the JSON object)"""
    patience = ['--timeout', '1'] if str(trace).startswith('altered') else [] # what waits for what is gone
    device = [] if VULKAN.search(str(trace)) else ['--device', 'emu']
    done = run([BIN / 'tracesmith', 'replay', '--json', once, *patience, *device, *options, trace], **env)
    try:
        result = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return 'error', {'error': done.stderr, 'status': done.returncode}
    result['status'] = done.returncode
    if 'error' in result:
        return 'error', result
    if 'replayable' in result:
        return 'none', result
    verdict = NAMES[result['verdict'].replace('_', ' ')]
    assert done.returncode == verdict, result
    return verdict, result


def diff(a, b, *options):
    done = run([BIN / 'tracesmith', 'diff', '--json', *options, a, b])
    result = json.loads(done.stdout.splitlines()[-1])
    result['status'] = done.returncode
    return NAMES[result['verdict'].replace('_', ' ')], result


# ---- the tables of the page --------------------------------------------------------------------------

CASES = {}


def row(name, said=None):
    """The function returns what replay() or diff() returns; `said` must be in `why`."""
    def add(function):
        CASES.setdefault(name, []).append((function, said))
        return function
    return add


@row('R1')
def dry_run():
    return replay(cuda('saxpy'), '--dry-run')


@row('R2', 'records were lost')
def lost():
    return replay(altered(cuda('saxpy'), 'lost', 5))


@row('R3', 'was made by no record')
def not_possible():
    trace = cuda('saxpy')
    return replay(altered(trace, 'remove', find(trace, 'cuModuleGetFunction')))


@row('R4', 'could not be had, and were left as recorded')
def untranslated():
    trace = hsa('hsa_held')
    folder = TESTS / 'hsa'
    if not (folder / 'occupy.so').exists():
        raise Skipped('no HSA')
    plain = run([folder / 'hsa_held', folder / 'hsa_kernels.hsaco'], LD_LIBRARY_PATH=EMU)
    return replay(trace, '--trust-code', TEST_OCCUPIED=plain.stdout.split()[1], LD_PRELOAD=str(folder / 'occupy.so'))


@row('R8', 'gave other bytes than recorded')
def different_before_moved():
    return replay(cuda('pointers'), '--keep-going', TS_EMU_NOOP='1')


@row('R6', 'not modelled come before, which may be why: cuMemcpyHtoD')
def explained_by_cut():
    trace = cuda('saxpy')
    return replay(altered(trace, 'flag', find(trace, 'cuMemcpyHtoD.*'), TRUNCATED))


@row('R6', 'which may be why: cuMemcpyHtoD')
def explained_by_unfinished():
    trace = cuda('saxpy')
    return replay(altered(trace, 'flag', find(trace, 'cuMemcpyHtoD.*'), UNFINISHED))


@row('R6', 'which may be why: cuMemcpyHtoD')
def explained_by_unknown():
    trace = cuda('saxpy')
    return replay(altered(trace, 'type', find(trace, 'cuMemcpyHtoD.*'), 0x1fff0))


@row('R7', 'records before them are missing')
def explained_by_missing():
    trace = cuda('saxpy')
    return replay(altered(altered(trace, 'remove', find(trace, 'cuMemcpyHtoD.*')), 'lost', 1), '--lossy')


@row('R25', 'was given to it when it did not come to its end')
def explained_by_early_writes():
    trace = cuda('spins')
    return replay(altered(trace, 'slot', find(trace, 'cuMemsetD32_v2'), '1:5'), '--timeout', '20')


@row('R26', 'by the program or the device, which may be why')
def explained_by_mixed_writes():
    trace = vulkan('vk_modes', 'plain')
    return replay(altered(trace, 'flag', find(trace, 'host_write'), HELD), TS_TEST_DRIVER='wrong',
                  VK_ICD_FILENAMES=str(TESTS / 'vulkan/vk_driver.json'))


@row('R27', 'that nothing in the trace sets')
def released():
    trace = hsa('hsa_releases', 'unseen')
    return replay(trace, '--timeout', '8')


verdict_failures.add_cases(row, cuda, altered, find, replay)
verdict_moved.add_cases(row, cuda, find, records, replay)
verdict_parts.add_cases(row, cuda, find, replay)


@row('R28', 'in a thread that may have told another one')
def explained_by_threads():
    return replay(cuda('handed', 'list'), '--streams', '2')


@row('R8', 'gave other bytes than recorded')
def different():
    return replay(cuda('saxpy'), TS_EMU_NOOP='1')


@row('R8', 'gave other bytes than recorded')
def different_before_taint():
    trace = cuda('saxpy')
    tainted = altered(trace, 'flag', find(trace, 'cuMemFree.*', -1), TAINTS)
    assert find(trace, 'readback') < find(trace, 'cuMemFree.*', -1)
    return replay(tainted, TS_EMU_NOOP='1')


@row('R9', 'not modelled: cuMemFree')
def tainted():
    trace = cuda('saxpy')
    return replay(altered(trace, 'flag', find(trace, 'cuMemFree.*', -1), TAINTS))


@row('R9', 'not modelled: cuMemFree')
def cut_command():
    trace = cuda('saxpy')
    return replay(altered(trace, 'flag', find(trace, 'cuMemFree.*', -1), TRUNCATED))


@row('R9', 'is not modelled: cuMemFree')
def unknown_type():
    trace = cuda('saxpy')
    return replay(altered(trace, 'type', find(trace, 'cuMemFree.*', -1), 0x1ffff))


@row('R9', 'is not modelled: cuMemFree')
def unknown_api():
    trace = cuda('saxpy')
    return replay(altered(trace, 'type', find(trace, 'cuMemFree.*', -1), 0x630001))


@row('R9', 'is not modelled: cuMemFree')
def unknown_core():
    trace = cuda('saxpy')
    return replay(altered(trace, 'type', find(trace, 'cuMemFree.*', -1), 0x00fff))


@row('R10', 'the process ended in calls')
def unfinished():
    trace = cuda('graphs')
    return replay(altered(trace, 'flag', find(trace, 'cuMemFree.*'), UNFINISHED))


@row('R10', 'the process ended in calls')
def unfinished_alone():
    trace = cuda('saxpy')
    without = altered(trace, 'remove', find(trace, 'readback'))
    return replay(altered(without, 'flag', find(without, 'cuMemFree.*', -1), UNFINISHED))


@row('R24')
def times_alone():
    return replay(vulkan('vk_odd', 'times'))


@row('R24')
def unfinished_at_the_end():
    trace = cuda('saxpy')
    return replay(altered(trace, 'flag', find(trace, 'cuMemFree.*', -1), UNFINISHED))


@row('R11', 'are missing')
def lossy():
    return replay(altered(cuda('saxpy'), 'lost', 5), '--lossy')


@row('R12', 'recording could not go on: the disk is full')
def stopped():
    return replay(altered(cuda('saxpy'), 'stopped'))


@row('R13', 'the trace has no end')
def cut():
    return replay(altered(cuda('saxpy'), 'cut'))


@row('R13', 'the trace has no end')
def cut_huge():
    return replay(altered(cuda('saxpy'), 'cut'), '--range', '0:1000000000')


@row('R24')
def cut_before():
    trace = cuda('saxpy')
    return replay(altered(trace, 'cut'), '--range', f'0:{records(trace)[-1]["seq"]}')


@row('R14')
def damaged():
    """A byte of the last chunk of texts or stacks, which the replay needs not."""
    trace = cuda('saxpy')
    data = bytearray(trace.read_bytes())
    chunks = [at for at in range(len(data) - 4) if data[at:at + 4] == data[chunk_start(data):chunk_start(data) + 4]]
    for at in chunks:
        copy = pathlib.Path('damaged.sbt')
        changed = bytearray(data)
        changed[at + 70] ^= 0xff
        copy.write_bytes(changed)
        verdict, result = replay(copy)
        assert verdict not in (SAME, NOTHING), (at, result)
        if verdict == CANNOT_TELL and 'damaged' in result['why']:
            return verdict, result
    raise Skipped('each chunk is needed to replay')


def chunk_start(data):
    """Offset of the first chunk, by its magic."""
    return data.index(b'SBTC') if b'SBTC' in data else 64


@row('R15', 'missing from stream')
def place_without_record():
    trace = cuda('pipeline', '2')
    return replay(altered(trace, 'remove', find(trace, 'cuEventRecord')))


@row('R16', 'memory of the host that')
def left():
    trace = hsa('hsa_inplace', TS_CHECKSUM='sync')
    return replay(trace, TS_EMU_NOOP='1')


@row('R17', 'their commands were not carried out')
def not_run():
    trace = cuda('saxpy')
    number = find(trace, 'readback')
    return replay(altered(trace, 'slot', number, '1:77'))


@row('R17', 'their commands were not carried out')
def failed_command():
    trace = cuda('pipeline', '2')
    read = [r['args'] for r in records(trace) if r['call'] == 'readback'][0]
    number = next(r['seq'] for r in records(trace)
                  if (r['stream'], r['position']) == (read['of_stream'], read['of_position']))
    return replay(altered(trace, 'flag', number, FAILED))


@row('R17', 'their commands were not carried out')
def not_run_in_range():
    trace = cuda('saxpy')
    number = find(trace, 'readback')
    return replay(altered(trace, 'slot', number, '1:77'), '--range', '1:')


@row('R18', 'no counterpart')
def no_counterpart():
    trace = cuda('saxpy')
    number = find(trace, 'readback')
    launch = next(r for r in records(trace) if r['call'].startswith('cuLaunchKernel'))
    return replay(altered(trace, 'slot', number, f'1:{launch["position"]}'))


@row('R19', 'does not hold all of their bytes')
def cut_result():
    trace = cuda('saxpy')
    return replay(altered(trace, 'flag', find(trace, 'readback'), TRUNCATED))


@row('R21', 'comes after the part')
def nothing_yet():
    trace = cuda('saxpy')
    return replay(trace, '--range', f'0:{find(trace, "readback")}')


@row('R21', 'comes before the part')
def nothing_more():
    trace = cuda('saxpy')
    return replay(trace, '--range', f'{find(trace, "readback") + 1}:')


@row('R22', '--checksum=')
def nothing():
    trace = cuda('saxpy')
    return replay(altered(trace, 'remove', find(trace, 'readback')))


@row('R23', 'of no command of the part')
def other_streams():
    return replay(cuda('pipeline', '2'), '--streams', '1')


@row('R24')
def same():
    return replay(cuda('saxpy'))


def check(trace, *options, **env):
    return replay(trace, '--check=1', *options, **env)


@row('C1', 'depends on')
def run_differs():
    return check(cuda('wrong', 'atomic'))


@row('C2', 'memory is read before it is written')
def reads_unwritten():
    return check(cuda('wrong', 'copied'))


@row('C3', 'gave other bytes')
def differs_from_recording():
    return check(cuda('saxpy'), TS_EMU_NOOP='1')


@row('C5', 'not modelled')
def recording_cannot_tell():
    trace = cuda('saxpy')
    return check(altered(trace, 'flag', find(trace, 'cuMemFree.*', -1), TAINTS))


@row('C6')
def runs_alone():
    trace = cuda('saxpy')
    return check(altered(trace, 'remove', find(trace, 'readback')))


@row('C7')
def runs_are_equal():
    return check(cuda('saxpy'))


@row('D1')
def other_bytes():
    trace = cuda('saxpy')
    done = run([PROGRAMS / 'edit_trace', trace, 'edited.sbt', 'cuMemcpyHtoD_v2', 2, 1234])
    assert done.returncode == 0, done.stderr
    return diff(trace, 'edited.sbt')


@row('D2', 'lost 5 records')
def lost_from_one():
    return diff(cuda('saxpy'), altered(cuda('saxpy'), 'lost', 5))


@row('D19', 'cannot be compared: 0x')
def address_of_no_allocation():
    trace = cuda('copies')
    copied = next(r for r in records(trace) if r['call'] == 'cuMemcpy' and int(r['args']['dst'], 16) >> 44 == 5)
    return diff(trace, altered(trace, 'slot', copied['seq'], f'0:{int(copied["args"]["dst"], 16) + 16}'))


@row('D19', 'bytes that one trace has only')
def late_once():
    trace = cuda('saxpy')
    return diff(trace, altered(trace, 'flag', find(trace, 'cuMemcpyHtoD.*'), LATE))


@row('D20', 'which of them stand for each other is not known')
def threads_that_nothing_tells_apart():
    return diff(cuda('crossed', '2'), cuda('crossed', '3'))


@row('D15')
def threads_in_another_order():
    return diff(cuda('crossed'), cuda('crossed', '1'))


@row('D11', 'stream 99 is in neither')
def stream_of_none():
    return diff(cuda('saxpy'), cuda('saxpy'), '--streams', '0,99')


@row('D13', 'places on it have no record')
def both_lack_the_same_command():
    less = altered(cuda('saxpy'), 'remove', find(cuda('saxpy'), 'cuLaunchKernel'))
    return diff(less, less)


@row('D13', 'places on it have no record')
def both_lack_the_last_command_with_a_result():
    trace = cuda('saxpy')
    last = [r for r in records(trace) if r['call'] == 'readback'][-1]['args']
    number = next(r['seq'] for r in records(trace)
                  if (r['stream'], r['position']) == (last['of_stream'], last['of_position']))
    shorter = altered(altered(trace, 'remove', number), 'head', number + 1)
    return diff(shorter, shorter)


@row('D14', 'was redacted')
def redacted_traces():
    for name in 'one.sbt', 'other.sbt':
        done = run([BIN / 'tracesmith', 'redact', '-o', name, cuda('saxpy')])
        assert done.returncode == 0, done.stderr
    return diff('one.sbt', 'other.sbt')


@row('D15')
def equal_traces():
    return diff(cuda('saxpy'), cuda('saxpy'))


# Rows that another test has a case for.
ELSEWHERE = {
    'C4': 'tests/unit/replay/replay_log.c',
    'C8': 'tests/unit/replay/replay_check.c',
    'R20': 'tests/drm/drm_test.py',
    **dict.fromkeys(('R29', 'R30'), 'tests/e2e/schedule_replay.py'),
    **dict.fromkeys(('D3', 'D4', 'D5', 'D6', 'D8', 'D9', 'D10', 'D16', 'D17', 'D18'), 'tests/unit/analysis/analysis_doubt.c'),
    'D7': 'tests/e2e/record/record_functions.sh',
    'D12': 'tests/unit/analysis/analysis_diff.c',
    'C9': 'tests/e2e/replay/replay_spins.sh',
}


def rows_of(page):
    """{row: (verdict, exit status)}"""
    found = {}
    for line in pathlib.Path(page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
        if line.startswith('|') and re.fullmatch(r'[RCD][0-9]+', cells[0]):
            assert cells[0] not in found, f'row {cells[0]} is there twice'
            found[cells[0]] = (NAMES[cells[2]], int(cells[3]))
    return found


def table(page):
    rows = rows_of(page)
    wrong = [f'row {name} has no case' for name in rows if name not in CASES and name not in ELSEWHERE]
    source = pathlib.Path(page).parent.parent
    wrong += [f'{path} does not speak of row {name}' for name, path in ELSEWHERE.items()
              if f'row {name}' not in (source / path).read_text()]
    wrong += [f'there is no row {name}' for name in [*CASES, *ELSEWHERE] if name not in rows]
    for name, (verdict, status) in rows.items():
        for function, said in CASES.get(name, []):
            wrong += walk(name, function, said, verdict, status)
    return wrong


def walk(name, function, said, verdict, status):
    try:
        got, result = function()
    except Skipped as reason:
        print(f'{name} {function.__name__}: skipped: {reason}')
        return []
    why = result.get('why') or str(result.get('error'))
    print(f'{name} {function.__name__}: {why}')
    if got != verdict or result['status'] != status:
        return [f'{name} {function.__name__}: {got}, exit status {result["status"]}: {why}']
    if said and said not in why:
        return [f'{name} {function.__name__}: not "{said}": {why}']
    return []


# ---- programs that are altered -----------------------------------------------------------------------

SAMPLES = [('saxpy',), ('pipeline', '2'), ('copies',), ('conditional',)]
MODES = [{}, {'TS_CHECKSUM': 'sync'}]


def samples():
    for name, *arguments in SAMPLES:
        for env in MODES:
            trace = cuda(name, *arguments, **env)
            verdict, result = replay(trace)
            assert verdict == SAME, (trace, result)
            yield trace


def others():
    """Traces of other APIs: memory of the host that kernels wrote, and times of the GPU."""
    for make in (lambda: hsa('hsa_inplace', TS_CHECKSUM='sync'), lambda: hsa('hsa_queues'),
                 lambda: vulkan('vk_modes', 'plain'), lambda: vulkan('vk_odd', 'queries')):
        try:
            yield make()
        except Skipped as reason:
            print(reason)


def settings(trace):
    """Ways to ask for all of a trace's results."""
    streams = sorted({r['stream'] for r in records(trace) if r['stream'] is not None})
    return [(), ('--range', '0:1000000000'), ('--range', '1:'), ('--loop', '2'),
            ('--streams', ','.join(map(str, streams))), ('--order', 'permuted:2'), ('--grain', 'sync')]


def is_unseen(all_records, r):
    """Is it the last one of its stream, without a result? docs/verdict.md says that nobody can miss it."""
    later = any(o['stream'] == r['stream'] and o['position'] > r['position'] for o in all_records if o['position'])
    results = [o['args'] for o in all_records if o['call'] in CORE]
    named = any((o['of_stream'], o['of_position']) == (r['stream'], r['position']) for o in results)
    return not later and not named


def removed():
    """A command that was taken out, and all others numbered again, is missed in every setting."""
    wrong = []
    for trace in [*samples(), *others()]:
        ways = settings(trace)
        shown = records(trace)
        for i, r in enumerate([r for r in shown if r['position'] and not is_unseen(shown, r)][::SHARE]):
            copy = altered(trace, 'remove', r['seq'])
            for way in (ways[i % len(ways)], ways[(i + 3) % len(ways)]):
                verdict, result = replay(copy, *way)
                if verdict == SAME:
                    wrong.append(f'{trace} {way}: without {r["seq"]} {r["call"]}: same')
            copy.unlink()
    return wrong


def graphs():
    """Functions that graphs call have places without records: a command that is missing beside them is missed."""
    wrong = []
    for name, *arguments in (('graphs',), ('captures',), ('conditional',), ('weave',)):
        trace = cuda(name, *arguments)
        part = pathlib.Path(f'{name}-part.sbt')
        shown = records(trace)
        assert run([BIN / 'tracesmith', 'trim', '--force', '--device', 'emu', '--range', f'{len(shown) // 3}:', '-o',
                    part, trace]).returncode == 0
        for whole in (trace, part):
            wrong += [f'{whole} and itself: not the same: {why}' for verdict, why in [diff(whole, whole)] if verdict]
        for r in [r for r in shown if r['position'] and not is_unseen(shown, r)][::SHARE]:
            for action in ('remove', 'position'):
                copy = altered(trace, action, r['seq'], 0)
                if diff(copy, copy)[0] == SAME:
                    wrong.append(f'{trace}: tsdiff without {r["seq"]} {r["call"]}: same')
                if action == 'remove' and r['seq'] % 3 == 0 and replay(copy)[0] == SAME:
                    wrong.append(f'{trace}: without {r["seq"]} {r["call"]}: same')
                copy.unlink()
    return wrong


# Programs that do the same each time, and others of which chance decides what the recorder sees.
ALIKE = ('pools', 'kinds', 'virtual', 'pointers', 'captures', 'copies', 'texture', 'linked')
BY_CHANCE = ('graphs', 'overtakes', 'staging', 'functions', 'releases')


def elsewhere(shown, r):
    """Ways to let a record lead to other memory, or another object, of the same kind."""
    places = [int(o['args']['dptr'], 16) for o in shown if o['call'].startswith('cuMemAlloc_v2') and o['seq'] < r['seq']]
    gone = [int(o['args']['dptr'], 16) for o in shown if o['call'].startswith('cuMemFree_v2') and o['seq'] < r['seq']]
    places = [place for place in places if place not in gone]
    words = bytes.fromhex(r['args'].get('arguments') or '')
    for i in range(len(words) // 8):
        word = int.from_bytes(words[8 * i:8 * i + 8], 'little')
        if word in places and len(places) > 1:
            other = places[(places.index(word) + 1) % len(places)]
            yield 'argument', r['seq'], f'{i}:{other}'
            yield 'argument', r['seq'], f'{i}:{word + 4}'
    handles = [o['args']['handle'] for o in shown if o['call'] == 'cuMemCreate' and o['seq'] < r['seq']]
    if r['call'] == 'cuMemMap' and len(handles) > 1:
        other = handles[(handles.index(r['args']['handle']) + 1) % len(handles)]
        yield 'slot', r['seq'], f'{list(r["args"]).index("handle")}:{other}'


def twice():
    """Two recordings are the same when what differs in them leads to the same places, and different when not."""
    wrong = []
    for name in (*ALIKE, *BY_CHANCE):
        a, b = cuda(name), cuda(name, TS_TWICE='2')
        verdict, result = diff(a, b)
        if verdict == DIFFERENT or (verdict and name in ALIKE):
            wrong.append(f'{name}: two recordings: {verdict}: {result["why"]}')
    count = 0
    for name in ('kinds', 'virtual', 'pointers', 'pools', 'graphs'):
        a, b = cuda(name), cuda(name, TS_TWICE='2')
        shown = records(b)
        for way in [way for r in shown for way in elsewhere(shown, r)]:
            copy = altered(b, *way)
            verdict, result = diff(a, copy)
            count += 1
            if verdict != DIFFERENT:
                wrong.append(f'{b} with {way}: {verdict}: {result["why"]}')
    return wrong or ([] if count > 10 else [f'only {count} ways to lead elsewhere'])


def renumbered():
    """A command at another place of its stream is missed."""
    wrong = []
    for trace in samples():
        of_stream = [r for r in records(trace) if r['position']]
        for r in of_stream[::3]:
            other = next((o for o in of_stream if o['stream'] == r['stream'] and o is not r), None)
            for position in (other['position'] if other else 0, r['position'] + 1000):
                copy = altered(trace, 'position', r['seq'], position)
                verdict, result = replay(copy)
                if position and verdict == SAME:
                    wrong.append(f'{trace}: {r["call"]} {r["seq"]} at place {position}: same')
                copy.unlink()
    return wrong


QUERY = re.compile('cu[A-Za-z]*(Get|Query)') # an unknown call that is described as a question changes nothing


def cut_records():
    """What is cut or unfinished, or has an unknown type, is never complete."""
    wrong = []
    for trace in samples():
        for i, r in enumerate(records(trace)[::SHARE]):
            if r['call'] in ('thread', 'mark') or (i % 2 and QUERY.match(r['call'])):
                continue
            action = [('flag', r['seq'], TRUNCATED), ('type', r['seq'], 0x1fff0)][i % 2]
            copy = altered(trace, *action)
            verdict, result = replay(copy)
            if verdict in (SAME, NOTHING):
                wrong.append(f'{trace}: {r["call"]} {action}: {result["verdict"]}')
            copy.unlink()
    return wrong


# Commands of which nothing can be seen in the results, because of what the program does: it copies there
# what is there already.
REDUNDANT = {('copies', 'cuMemcpyPeer')}
ORDER = re.compile('cuEvent.*|cuStreamWaitEvent|.*Synchronize|cuStreamQuery')


def disabled():
    """A command that does nothing is seen: its own result is missed, or a later one differs, or what it should
    have written is what fresh memory holds, and then an arm of --check sees it."""
    wrong = []
    for name, *arguments in SAMPLES:
        trace = cuda(name, *arguments, TS_CHECKSUM='sync')
        for r in records(trace):
            if not r['position'] or ORDER.fullmatch(r['call']) or (name, r['call']) in REDUNDANT:
                continue
            copy = altered(trace, 'flag', r['seq'], FAILED)
            if replay(copy)[0] == SAME and check(copy)[0] == SAME:
                wrong.append(f'{trace}: {r["call"]} {r["seq"]} does nothing: same')
            copy.unlink()
    return wrong


def dropped():
    """Lost stores of kernels are never the same; nor is a device that does nothing."""
    wrong = []
    for name, *arguments in [('saxpy',), ('pipeline', '2'), ('pointers',), ('threads',), ('graphs',), ('kinds',)]:
        for env in MODES:
            trace = cuda(name, *arguments, **env)
            ways = settings(trace)
            for seed in range(6):
                percent = (90, 50, 20, 5, 2, 40)[seed]
                verdict, result = replay(trace, *ways[seed % len(ways)], TS_EMU_DROP=f'{percent}:{seed}')
                if verdict in (SAME, NOTHING):
                    wrong.append(f'{trace}: {percent} % of the stores, seed {seed}: {result["verdict"]}')
    return wrong


def main():
    what = sys.argv[1]
    folder = tempfile.mkdtemp(prefix='ts-verdict.')
    page = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    os.chdir(folder)
    wrong = table(page) if what == 'table' else globals()[what]()
    if wrong:
        print('\n'.join(wrong), f'(files: {folder})', sep='\n', file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == '__main__':
    sys.exit(main())
