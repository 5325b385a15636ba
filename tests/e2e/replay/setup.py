#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsreplay --device emu` sets up the software GPU as the recording's machine. What the user sets counts first, and a message names the
setting where that is not enough."""

import json
import os
import sys
import tempfile

from recorded import BIN, PROGRAMS, record, run


def replay(trace, *options, **settings):
    return run([BIN / 'tracesmith', 'replay', '--device', 'emu', *options, trace], **settings)


def with_metadata(trace, name, value):
    """A copy whose metadata says something else of the machine."""
    with_metadata.count += 1
    copy = f'changed-{with_metadata.count}.sbt'
    done = run([PROGRAMS / 'alter_trace', trace, copy, 'flag', '0', '0'], TS_TEST_METADATA=f'{name}={value}')
    assert done.returncode == 0, done
    return copy


with_metadata.count = 0


def check_capability():
    trace = record('virtual.sbt', 'machine', 'clusters', TS_EMU_CC='9.0')
    done = replay(trace)
    assert done.returncode == 0, done
    done = replay(trace, TS_EMU_CC='7.5')
    assert done.returncode == 2 and 'TS_EMU_CC sets the compute capability' in done.stderr, done


def check_devices():
    trace = record('devices.sbt', 'machine', 'devices', TS_EMU_DEVICES='3')
    assert replay(trace).returncode == 0
    done = replay(trace, TS_EMU_DEVICES='2')
    assert done.returncode == 2 and 'TS_EMU_DEVICES sets how many' in done.stderr, done


def check_memory():
    trace = record('memory.sbt', 'machine', 'memory', TS_EMU_MEMORY='6G')
    assert replay(trace).returncode == 0
    done = replay(trace, TS_EMU_MEMORY='4G')
    assert done.returncode == 2 and 'TS_EMU_MEMORY sets how much' in done.stderr, done


def check_machine():
    """The recording's machine in virtual time: a kernel takes as long as it did."""
    machine = 'kernel_ns=77000,instruction_ps=1000'
    trace = record('times.sbt', 'machine', 'plain', TS_EMU_TIME='virtual', TS_EMU_MACHINE=machine, TS_GPU_TIME='1')
    for settings, equal in (({}, True), ({'TS_EMU_MACHINE': 'kernel_ns=5000'}, False)):
        done = replay(trace, '--json', '--time=2:0', TS_EMU_TIME='virtual', **settings)
        kernel, = json.loads(done.stdout)['times']['kernels']
        assert done.returncode == 0 and (kernel['median_ns'] == kernel['recorded_median_ns']) == equal, (settings, kernel)


def check_unknown():
    """A machine that cannot be had is as near to it as it can be, and a line says so, unless the user has set one."""
    trace = record('plain.sbt', 'machine', 'plain')
    assert 'TS_EMU' not in replay(trace).stderr
    major, memory = 'cuda.device.0.compute_capability_major', 'cuda.device.0.memory'
    for name, value, said in ((major, '5', 'TS_EMU_CC'), (major, '13', 'it has 12.0; TS_EMU_CC'), ('cuda.device_count', '40', 'TS_EMU_DEVICES'),
                              (memory, str(2 ** 40), 'TS_EMU_MEMORY')):
        changed = with_metadata(trace, name, value)
        done = replay(changed)
        assert done.returncode == 0 and said in done.stderr, (name, value, done)
        variable = said.split()[-1]
        done = replay(changed, **{variable: {'TS_EMU_CC': '8.0', 'TS_EMU_DEVICES': '2', 'TS_EMU_MEMORY': '5G'}[variable]})
        assert done.returncode == 0 and variable not in done.stderr, done
    for name, value in ((major, 'many'), (major, '-7'), (major, '99999999999999999999'), (memory, '-1'), ('cuda.device_count', '0')):
        assert replay(with_metadata(trace, name, value)).returncode == 0, (name, value)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_capability()
    check_devices()
    check_memory()
    check_machine()
    check_unknown()
sys.exit(0)
