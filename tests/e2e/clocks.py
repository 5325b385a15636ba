#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith clocks`: times that were recorded fit the host's calls; one that is moved does not, and both records
are named; without calibration the offset that was hidden lies between the bounds."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ['TEST_BIN'])
PROGRAMS = pathlib.Path(os.environ['TEST_PROGRAMS'])
VULKAN = pathlib.Path(os.environ['TEST_VULKAN_PROGRAMS'])
HSA = pathlib.Path(os.environ['TEST_HSA_PROGRAMS'])
LAVAPIPE = pathlib.Path('/usr/share/vulkan/icd.d/lvp_icd.x86_64.json')
START, FLAGS = 3, 5  # slots of gpu_time
MOVED = 1 << 40


def run(words, status=0, **settings):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200, check=False,
                          env={**os.environ, **settings})
    assert done.returncode == status or status is None, (words, done.returncode, done.stdout[-600:], done.stderr[-600:])
    return done.stdout


def clocks(trace, status=0, *options):
    return json.loads(run([BIN / 'tracesmith', 'clocks', '--json', *options, trace], status))


def times(trace):
    shown = run([BIN / 'tracesmith', 'view', '--json', trace])
    return [r for r in map(json.loads, shown.splitlines()) if r.get('call') == 'gpu_time']


def altered(trace, seq, slot, value):
    path = trace.with_name('altered.sbt')
    path.unlink(missing_ok=True)
    run([PROGRAMS / 'alter_trace', trace, path, 'slot', seq, f'{slot}:{value % (1 << 64)}'])
    return path


def test_moved(trace):
    """One time before its call, and one after a wait for its stream."""
    assert not clocks(trace)['contradictions']
    one = times(trace)[0]
    found = clocks(altered(trace, one['seq'], START, one['args']['start_ns'] - MOVED), 1)
    assert found['contradiction_count'] == 1, found
    assert found['contradictions'][0]['contradicts'] == 'starts before', found
    assert found['contradictions'][0]['by_ns'] > MOVED / 2, found
    # The last of what the program waited for.
    waited = [one for one in times(trace) if 'ends after' in
              run([BIN / 'tracesmith', 'clocks', altered(trace, one['seq'], START, one['args']['start_ns'] + MOVED)], None)]
    assert waited, trace
    late = clocks(altered(trace, waited[-1]['seq'], START, waited[-1]['args']['start_ns'] + MOVED), 1)['contradictions'][0]
    assert late['contradicts'] == 'ends after' and late['other_seq'] >= late['seq'] and late['by_ns'] > MOVED / 2, late
    shown = run([BIN / 'tracesmith', 'clocks', altered(trace, one['seq'], START, one['args']['start_ns'] - MOVED)], 1)
    assert 'starts before' in shown, shown


def test_hidden(trace):
    """All times on a clock of the device's own, MOVED ahead of the host's."""
    for one in times(trace):
        altered(trace, one['seq'], FLAGS, 0).rename(trace.with_name('hidden.sbt'))
        trace = trace.with_name('hidden.sbt')
        altered(trace, one['seq'], START, one['args']['start_ns'] + MOVED).rename(trace)
    found = clocks(trace)
    clock = found['clocks'][0]
    assert clock['clock'] == 'device' and not found['drifting_count'], found
    assert clock['offset_least_ns'] <= -MOVED <= clock['offset_most_ns'], clock
    # One of them earlier than the host allows beside the others.
    one = times(trace)[0]
    found = clocks(altered(trace, one['seq'], START, one['args']['start_ns'] - MOVED), 1)
    assert found['drifting_count'] == 1, found


def test_context(trace):
    """A wait for a whole context bounds commands of its streams."""
    shown = run([BIN / 'tracesmith', 'view', '--json', trace])
    fill = [r for r in map(json.loads, shown.splitlines()) if r.get('call') == 'cuMemsetD8Async'][-1]
    one = [one for one in times(trace) if one['args']['of_stream'] == fill['stream']
           and one['args']['of_position'] == fill['position']][0]
    found = clocks(altered(trace, one['seq'], START, one['args']['start_ns'] + MOVED), 1)['contradictions']
    assert [(one['seq'], one['contradicts'], one['other_call']) for one in found] == [
        (fill['seq'], 'ends after', 'cuCtxSynchronize')], found


def told_by(trace):
    """The calls by which the program knew of its commands, in their order: those that contradict times which are late."""
    for one in times(trace):
        altered(trace, one['seq'], START, one['args']['start_ns'] + MOVED).rename(trace.with_name('late.sbt'))
        trace = trace.with_name('late.sbt')
    found = clocks(trace, 1)['contradictions']
    assert all(one['contradicts'] == 'ends after' and one['by_ns'] > MOVED / 2 for one in found), found
    return [one['other_call'] for one in sorted(found, key=lambda one: one['seq'])]


def test_vulkan(trace, record):
    """Fences, semaphores, and waits that tell nothing."""
    settings = {**record, 'VK_ICD_FILENAMES': str(LAVAPIPE)}
    run([VULKAN / 'vk_modes', 'plain'], **settings)
    found = clocks(trace)
    assert found['clocks'][0]['api'] == 'vulkan' and found['clocks'][0]['offset_most_ns'] is not None, found
    assert clocks(trace, 0, '--streams=0')['clocks'] == found['clocks'], 'waits of no stream are left out'
    trace.unlink()
    wanted = run([VULKAN / 'vk_waits'], **settings).split()
    assert clocks(trace)['clocks'][0]['command_count'] == len(wanted) == 7, wanted
    assert told_by(trace) == wanted, (told_by(trace), wanted)
    trace.unlink()
    # Four queues that wait for one another; the program waits for each fourth value.
    run([VULKAN / 'vk_odd', 'queues'], **{**settings, 'VK_ICD_FILENAMES': str(VULKAN / 'vk_driver.json'), 'TS_TEST_DRIVER': 'queues'})
    found = clocks(trace)
    late = told_by(trace)
    assert not found['contradictions'] and len(late) == found['clocks'][0]['command_count'] > 4, (found, late)
    assert set(late) == {'vkWaitSemaphores'}, late


def test_hsa(trace, record):
    """Signals: one that is used again and again, and one that a copy and a handler know."""
    settings = {**record, 'LD_LIBRARY_PATH': os.pathsep.join(map(str, (HSA, BIN.parent / 'interpose/shim', record['LD_LIBRARY_PATH'])))}
    for program, least in (('hsa_dispatch', 200), ('hsa_views', 1)):
        run([HSA / program, HSA / 'hsa_kernels.hsaco'], **settings)
        found = clocks(trace)
        assert not found['contradictions'] and found['clocks'][0]['offset_most_ns'] is not None, found
        late = told_by(trace) if least < 100 else None
        assert late is None or (len(late) >= least and set(late) == {'hsa_signal_wait_scacquire'}), late
        trace.unlink()
    # Values that commands count down, others than 1 and 0, and calls that find and change them; one that changes nothing is a load.
    for way, wanted in (('other_value', 'wait_scacquire'), ('from_zero', 'wait_scacquire'), ('compared', 'cas_scacq_screl'),
                        ('exchanged', 'exchange_scacq_screl'), ('polled', 'load_scacquire')):
        run([HSA / 'hsa_waits', way], **settings)
        assert not clocks(trace)['contradictions'], way
        late = told_by(trace)
        assert late and set(late) <= {'hsa_signal_' + wanted, 'hsa_signal_load_scacquire'}, (way, late)
        trace.unlink()


def main():
    with tempfile.TemporaryDirectory(prefix='ts-clocks.') as folder:
        trace = pathlib.Path(folder) / 't.sbt'
        settings = {'LD_LIBRARY_PATH': os.environ['TEST_EMU'], 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
        record = {**settings, 'LD_PRELOAD': os.environ['TEST_CAPTURE'], 'TS_OUTPUT': str(trace), 'TS_GPU_TIME': '1'}
        run([PROGRAMS / 'saxpy'], **record, TS_EMU_TIME='virtual')
        assert [c['clock'] for c in clocks(trace)['clocks']] == ['virtual']
        trace.unlink()
        run([PROGRAMS / 'pipeline', '3'], **record)
        assert clocks(trace)['clocks'][0]['clock'] == 'host'
        test_moved(trace)
        test_hidden(trace)
        trace.unlink()
        run([PROGRAMS / 'timed'], **record)
        assert not clocks(trace)['contradictions']
        test_context(trace)
        trace.unlink()
        # A copy to the device may end after its call, which tells of what is before it.
        run([PROGRAMS / 'saxpy'], **record)
        late = told_by(trace)
        assert late == ['cuMemcpyHtoD_v2', 'cuCtxSynchronize', 'cuCtxSynchronize', 'cuMemcpyDtoH_v2'], late
        trace.unlink()
        # A wait for an event says nothing of the stream that it was on before.
        for way in ('added', 'changed'):
            run([PROGRAMS / 'event_nodes', way], **record)
            assert not clocks(trace)['contradictions'], (way, clocks(trace))
            trace.unlink()
        run([PROGRAMS / 'saxpy'], **{**record, 'TS_GPU_TIME': '0'})
        found = clocks(trace)
        assert not found['clocks'] and found['unknown_count'] + found['derived_count'], found
        trace.unlink()
        if (HSA / 'hsa_dispatch').exists():
            test_hsa(trace, record)
        if LAVAPIPE.exists() and (VULKAN / 'vk_waits').exists():
            test_vulkan(trace, record)


if __name__ == '__main__':
    if os.environ.get('TEST_SANITIZED'):
        sys.exit(77)
    main()
