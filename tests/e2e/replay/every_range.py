# SPDX-License-Identifier: Apache-2.0
"""Ranges that end anywhere: behind a wait, a free, a write of the host. usage: every_range.py API

Each must end without a crash or a difference, whatever is combined with it and wherever it begins, and leave
the same memory as a trace that ends there. Meson sets TEST_BIN, TEST_CAPTURE, TEST_EMU and TEST_BUILD, the folder of all tests."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BIN, CAPTURE, EMU, BUILD = (os.environ[f'TEST_{name}'] for name in ('BIN', 'CAPTURE', 'EMU', 'BUILD'))
ENDS = 12 if os.environ.get("TS_TEST_ALL") else 3  # of each program
SETTINGS = [[], ['--pace', 'stepped'], ['--order', 'permuted:2'], ['--order', 'delayed:3'], ['--loop', '2'],
            ['--streams'], ['--streams', '--order', 'permuted:1'], ['--streams', '--loop', '2']]
KINDS = ('Wait', 'Submit', 'Sync', 'Query', 'Free', 'Destroy', 'Reset', 'free', 'destroy', 'wait', 'unlock', 'host_write',
         'drm_close', 'drm_unmap', 'GEM_CLOSE', 'WAIT', 'load')
class Failures(list):
    """Said at once: a hang further on must not hide them."""

    def append(self, text):
        super().append(text)
        print(text, flush=True)


failures = Failures()


def folder(name):
    return os.path.join(BUILD, name)


def programs(api):
    """What is recorded: command, and what both the program and the replay need in the environment."""
    if api == 'vulkan':
        icd = '/usr/share/vulkan/icd.d/lvp_icd.x86_64.json'
        if not os.path.exists(icd):
            sys.exit(77)
        staging = [(['vulkan/replay/vk_staging', '4', wait], checksum)
                   for wait in ('fence', 'counter', 'queue', 'value')
                   for checksum in ('off', 'submit')]
        others = [([name, mode], 'sync') for name, mode in
                  (('vulkan/replay/vk_chain', 'self'), ('vulkan/replay/vk_rounds', '3'), ('vulkan/vk_host', 'event'))]
        return [([folder(name), *arguments], {'VK_ICD_FILENAMES': icd, 'TS_CHECKSUM': checksum})
                for (name, *arguments), checksum in staging + others]
    if api == 'hsa':
        return [([folder(f'hsa/{name}'), folder('hsa/hsa_kernels.hsaco')], {'LD_LIBRARY_PATH': EMU})
                for name in ('hsa_dispatch', 'hsa_queues', 'hsa_rounds', 'hsa_host', 'hsa_barriers')]
    if api == 'drm':
        fake = folder('drm/libfake_drm.so')
        return [([folder('drm/drm_modes'), mode], {'FAKE_DRM': driver, 'FAKE_DRM_BUSY': '3', 'FAKE': fake})
                for mode, driver in (('amdgpu', 'amdgpu'), ('i915', 'i915'), ('nouveau', 'nouveau'),
                                     ('virtgpu', 'virtio_gpu'))]
    ptx = os.path.join(os.path.dirname(__file__), '../../programs/kernels.ptx')
    return [([folder(f'programs/{name}'), *arguments], {'LD_LIBRARY_PATH': EMU, 'TS_TEST_PTX': ptx})
            for name, *arguments in (('pipeline', '4'), ('copies',), ('hostmem',), ('managed',), ('pools',),
                                     ('rounds', '6'), ('graphs',), ('values',), ('functions',), ('threads',))]


def run(words, env, preload=()):
    env = {**os.environ, 'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0', **env}
    fake = env.pop('FAKE', None)
    env['LD_PRELOAD'] = ':'.join([*preload, *([fake] if fake else [])])
    return subprocess.run([str(word) for word in words], env=env, capture_output=True, text=True, timeout=100,
                          check=False)


def replay(trace, env, *options):
    where = ['--device', 'emu'] if 'TS_TEST_PTX' in env or 'LD_LIBRARY_PATH' in env else []
    words = [os.path.join(BIN, 'tsreplay'), '--json', '--timeout', '10', *where, trace, *options]
    try:
        shown = run(words, env)
        result = json.loads(shown.stdout)
    except (ValueError, subprocess.TimeoutExpired) as error:
        result, shown = {'error': str(error)}, None
    if 'error' in result or not shown or shown.returncode not in (0, 2, 3):
        told = shown and (shown.returncode, result.get('why'), shown.stderr[-300:])
        failures.append(f'{os.path.basename(str(trace))} {options}: {result.get("error")} {told}')
    return result


def ends_of(records):
    ends = [r['seq'] + 1 for r in records if any(kind in r['call'] for kind in KINDS)]
    return ends[::max(1, len(ends) // ENDS)]


def try_end(trace, env, end, turn, streams):
    part = trace.with_name('part.sbt')
    part.unlink(missing_ok=True)
    cut = run([os.path.join(BIN, 'tracesmith'), 'trim', '--range', f'0:{end}', '-o', part, trace], env)
    here = replay(trace, env, '--once', '--range', f':{end}')
    if cut.returncode == 0:  # else there is no command
        whole = replay(part, env, '--once')
        for key in ('digest', 'command_count', 'verdict'):
            if key in here and here[key] != whole.get(key):
                failures.append(f'{trace.name} :{end}: {key} is {here[key]}, not {whole.get(key)}')
    late = replay(trace, env, '--range', f'{end // 3}:{end}', '--from-checkpoint=none')
    if late.get('command_count', 0) and late['command_count'] != here.get('command_count'):
        failures.append(f'{trace.name} {end // 3}:{end}: {late["command_count"]} commands, not {here.get("command_count")}')
    for setting in (SETTINGS[turn % len(SETTINGS)], SETTINGS[(turn * 3 + 1) % len(SETTINGS)]):
        options = list(setting)
        if options[:1] == ['--streams']:
            options[1:1] = [str(streams[turn % len(streams)])] if streams else ['0']
        replay(trace, env, '--range', f'{end // 2}:{end}' if '--loop' in options else f':{end}', *options)


def try_program(words, env, place):
    trace = place / f'{"-".join(os.path.basename(word) for word in words)}.sbt'
    trace.unlink(missing_ok=True)
    ran = run(words, {**env, 'TS_OUTPUT': trace}, [CAPTURE])
    if not trace.exists():
        failures.append(f'{words}: {ran.returncode} {ran.stderr}')
        return
    shown = run([os.path.join(BIN, 'tsview'), '--json', trace], {})
    records = [json.loads(line) for line in shown.stdout.splitlines()[1:]]
    streams = sorted({r['stream'] for r in records if isinstance(r.get('stream'), int)})
    replay(trace, env)
    for stream in streams:
        replay(trace, env, '--streams', stream)
    for turn, end in enumerate(ends_of(records)):
        try_end(trace, env, end, turn, streams)


def main():
    with tempfile.TemporaryDirectory(prefix='ts-ranges.') as place:
        few = sys.argv[1] == 'vulkan' and not os.environ.get('TS_TEST_ALL')
        for words, env in programs(sys.argv[1])[::3 if few else 1]:
            try_program(words, env, pathlib.Path(place))
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
