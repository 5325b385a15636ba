# SPDX-License-Identifier: Apache-2.0
"""Vulkan programs, recorded: they print what they print without us, and the trace is well formed,
complete, and holds what it must. Argument: the name of a test below.

Meson gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, BUILD (folder of the programs).
"""

import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CAPTURE, TOOL = os.environ['TS_TEST_CAPTURE'], os.environ['TS_TEST_TOOL']
BUILD = pathlib.Path(os.environ['TS_TEST_BUILD'])
MODES = BUILD / 'vk_modes'
SKIP = 77
CHECKSUM_MEMORY = 1 << 63


def drivers():
    folder = '/usr/share/vulkan/icd.d'
    return sorted(glob.glob(f'{folder}/lvp_icd*.json'))


class Recorded:
    """A program that ran without and with us; its traces."""

    def __init__(self, command, folder, status=0, output=lambda text: text, **environment):
        base = {**os.environ, 'VK_ICD_FILENAMES': drivers()[0], **environment}
        base.pop('LD_PRELOAD', None)
        base['ASAN_OPTIONS'] = 'verify_asan_link_order=0:detect_leaks=0'
        recording = {**base, 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': f'{folder}/%p.sbt'}
        self.folder = pathlib.Path(folder)
        without, with_us = (subprocess.run([str(word) for word in command], env=env, cwd=folder,
                                           stdin=subprocess.DEVNULL, capture_output=True,
                                           text=True, timeout=100, check=False)
                            for env in (base, recording))
        if without.returncode == SKIP:
            sys.exit(SKIP)
        self.output, self.error = with_us.stdout, with_us.stderr
        equal('status without', without.returncode, status)
        equal('status', with_us.returncode, status)
        equal('output', output(with_us.stdout), output(without.stdout))

    def traces(self):
        found = sorted(self.folder.glob('*.sbt'))
        for trace in found:
            check = subprocess.run([TOOL, 'check', trace], capture_output=True, text=True,
                                   check=False)
            equal(f'check of {trace}', check.returncode, 0)
        return [Trace(trace) for trace in found]

    def trace(self):
        found = self.traces()
        equal('traces', len(found), 1)
        return found[0]


class Trace:
    def __init__(self, path):
        shown = subprocess.run([TOOL, 'view', '--json', path], capture_output=True, text=True,
                               check=True)
        self.head, *records = map(json.loads, shown.stdout.splitlines())
        self.records = [record for record in records if 'call' in record]

    def of(self, call):
        return [record for record in self.records if record['call'] == call]

    def count(self, call, expected):
        equal(f'records of {call}', len(self.of(call)), expected)

    def complete(self):
        equal('end', self.head['end'], 'finished')
        equal('tainted', self.head['tainted'], 0)
        equal('unmodelled', [r['args'] for r in self.of('unmodelled')], [])
        return self


def equal(what, got, expected):
    if got != expected:
        sys.exit(f'{what}: {got!r:.2000}, not {expected!r:.2000}')


def modes(mode, folder, status=0, **environment):
    return Recorded([MODES, mode], folder, status, **environment)


# ---- programs of ours ------------------------------------------------------------------------------


def plain(folder):
    trace = modes('plain', folder).trace().complete()
    trace.count('vkQueueSubmit', 4)
    # Before them, perhaps, what the driver's memory held when it was allocated.
    writes = trace.of('host_write')[-4:]
    mapped = int(trace.of('vkMapMemory')[0]['args']['ppData'], 16)
    equal('written bytes', [w['args']['size'] for w in writes], [4096, 8, 4096, 8])
    equal('written place', int(writes[1]['args']['address'], 16), mapped + 16)
    results = trace.of('checksum')
    equal('results', [r['args']['of_position'] for r in results], [1, 2, 3, 4])
    equal('whose', {int(r['args']['address'], 16) for r in results}, {CHECKSUM_MEMORY | 1 << 40})
    for name in ('name', 'api', 'driver_version', 'memory.0'):
        equal(f'metadata {name}', f'vulkan.device.1.{name}' in trace.head['metadata'], True)


def ignored_pointers(folder):
    """Pointers that the specification says are ignored are wild in all of these programs."""
    trace = modes('plain', folder).trace().complete()
    binding = trace.of('vkCreateDescriptorSetLayout')[0]['args']['pCreateInfo']['pBindings'][0]
    equal('pImmutableSamplers', binding['pImmutableSamplers'], None)
    equal('pInheritanceInfo', trace.of('vkBeginCommandBuffer')[0]['args']['pBeginInfo']
          ['pInheritanceInfo'], None)


def ignored_members(folder):
    """What is in members that the specification ignores changes nothing in the trace."""
    seen = []
    for byte in ('0', '0x5a'):
        os.mkdir(f'{folder}/{byte}')
        trace = Recorded([BUILD / 'vk_ignored', byte], f'{folder}/{byte}').trace().complete()
        seen.append([(r['call'], re.sub('"0x[0-9a-f]*"', '', json.dumps(r['args'])))
                     for r in trace.records if r['call'].startswith('vk') and
                     not r['call'].startswith('vkGet')])  # what the driver leaves unset there is chance
        path = next(trace_path for trace_path in pathlib.Path(folder, byte).glob('*.sbt'))
        replay = subprocess.run([TOOL, 'replay', path], capture_output=True, text=True, check=False,
                                env={**os.environ, 'VK_ICD_FILENAMES': drivers()[0]})
        equal(f'replay {byte}: {replay.stdout} {replay.stderr}', replay.returncode, 0)
    for first, second in zip(*seen):
        equal('record', second, first)
    equal('records', len(seen[1]), len(seen[0]))


def same_every_time(folder):
    """What was written and what came out does not depend on the run."""
    runs = []
    for name in 'ab':
        os.mkdir(f'{folder}/{name}')
        trace = modes('plain', f'{folder}/{name}').trace()
        runs.append([r['args']['xxh3_128'] for r in trace.of('checksum')] +
                    [w['args']['bytes'] for w in trace.of('host_write')])
    equal('second run', runs[1], runs[0])


def memory_modes(folder):
    for mode in ('pages', 'hash', 'shadow'):
        os.mkdir(f'{folder}/{mode}')
        trace = modes('plain', f'{folder}/{mode}', TS_VK_MEMORY=mode).trace().complete()
        equal(f'writes recorded by {mode}', len(trace.of('host_write')) >= 4, True)
        equal(f'{mode}: results', len(trace.of('checksum')), 4 if mode == 'shadow' else 0)


def paused(folder):
    """The program depends on the shadow whether or not anything is recorded."""
    run = modes('plain', folder, TS_START='paused')
    # What submits leave behind is followed from their records; what memory holds would come later.
    equal('submits', [len(t.of('vkQueueSubmit')) for t in run.traces()], [4])
    equal('bytes', [len(t.of('host_write') + t.of('checksum')) for t in run.traces()], [0])


def stopped(folder):
    trace = modes('plain', folder, TS_STOP_CALL='30').trace()
    equal('records', len(trace.records) < 60, True)


def each_submit(folder):
    trace = modes('threads', folder, TS_CHECKSUM='submit').trace()
    equal('positions', {r['args']['of_position'] for r in trace.of('checksum')}, {1, 2, 3, 4})


def reading(folder):
    run = modes('read', folder)
    equal('output', run.output, 'read 1\n')
    equal('written bytes', run.trace().complete().of('host_write')[0]['args']['size'], 4096)


def template(folder):
    trace = modes('template', folder).trace().complete()
    update = trace.of('vkUpdateDescriptorSets')[-1]['args']['pDescriptorWrites']['items'][0]
    equal('buffer', update['pBufferInfo'][0]['buffer'], 'VkBuffer#1')
    equal('set', update['dstSet'], 'VkDescriptorSet#1')


def push(folder):
    trace = modes('push', folder).trace().complete()
    trace.count('vkCmdPushDescriptorSetKHR', 2)
    for record in trace.of('vkCmdPushDescriptorSetKHR'):
        equal('buffer', record['args']['pDescriptorWrites']['items'][0]['pBufferInfo'][0]['buffer'],
              'VkBuffer#1')


def secondary(folder):
    modes('secondary', folder).trace().complete().count('vkCmdExecuteCommands', 1)


def instances(folder):
    trace = modes('instances', folder).trace().complete()
    trace.count('vkCreateInstance', 2)
    equal('streams', trace.head['streams'], 2)


def threads(folder):
    trace = modes('threads', folder).trace().complete()
    trace.count('vkCmdDispatch', 800)
    equal('threads', len({r['thread'] for r in trace.of('vkCmdDispatch')}), 4)


def together(folder):
    """Results of one thread's work are there when it has waited, whatever the others do."""
    run = modes('together', folder)
    equal('output', run.output, '0 words are wrong\n' * 4)
    run.trace().complete().count('vkQueueSubmit', 240)


def destructor(folder):
    """A call after the program's exit() must not fail, recorded or not."""
    run = modes('destructor', folder)
    equal('output', run.output, 'destructor\nat exit 0\n')


def fork(folder):
    traces = modes('fork', folder).traces()
    equal('traces', len(traces), 2)
    for trace in traces:
        trace.complete().count('vkQueueSubmit', 4)


def cleared(folder):
    """The program clears its environment, with what tells the loader of us."""
    modes('cleared', folder)  # and TS_OUTPUT: so the trace is trace.sbt
    Trace(f'{folder}/trace.sbt').complete().count('vkQueueSubmit', 4)


def layers(folder):
    """The program sets the variables that tell the loader of us."""
    modes('layers', folder).trace().complete().count('vkQueueSubmit', 4)


def labels(folder):
    trace = modes('labels', folder).trace().complete()
    equal('marks', [(m['args']['name'], m['args']['phase']) for m in trace.of('mark')],
          [('frame', 1), (None, 2)])


def killed(folder):
    trace = Trace(next(modes('killed', folder, status=-9).folder.glob('*.sbt')))
    trace.count('vkQueueSubmit', 1)
    equal('written', trace.of('host_write')[-1]['args']['size'], 4096)


def opened(folder):
    for how in ('loader', 'deepbind'):
        os.mkdir(f'{folder}/{how}')
        trace = Recorded([BUILD / 'vk_open', how], f'{folder}/{how}').trace().complete()
        trace.count('vkQueueSubmit', 6)


def driver(folder):
    with open(drivers()[0], encoding='utf-8') as f:
        library = json.load(f)['ICD']['library_path']
    trace = Recorded([BUILD / 'vk_open', 'driver', library], folder).trace().complete()
    trace.count('vkQueueSubmit', 6)


def other_layers(folder):
    if not glob.glob('/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json'):
        sys.exit(SKIP)
    trace = modes('plain', folder, VK_INSTANCE_LAYERS='VK_LAYER_KHRONOS_validation').trace()
    trace.complete().count('vkQueueSubmit', 4)


def hidden_layers(folder):
    trace = modes('plain', folder, VK_LOADER_LAYERS_DISABLE='~all~').trace()
    trace.complete().count('vkQueueSubmit', 4)


def own_layer_path(folder):
    trace = modes('plain', folder, VK_LAYER_PATH='/usr/share/vulkan/explicit_layer.d').trace()
    trace.complete().count('vkQueueSubmit', 4)


def not_wanted(folder):
    for name, value in (('TS_CAPTURE', '0'), ('TS_APIS', 'cuda')):
        equal(f'traces with {name}', modes('plain', folder, **{name: value}).traces(), [])


def child_without_us(folder):
    """Who takes LD_PRELOAD from a child does not want it recorded."""
    run = Recorded(['env', '-u', 'LD_PRELOAD', MODES, 'plain'], folder)
    equal('traces', run.traces(), [])


# ---- programs of others ------------------------------------------------------------------------------


def need(*names):
    for name in names:
        if not shutil.which(name):
            sys.exit(SKIP)


def vulkaninfo(folder):
    """Its list of layers has ours, and the loader tells it why."""
    need('vulkaninfo')

    def without_us(text):
        # Columns are as wide as the longest name, which may be ours.
        return [' '.join(line.split()) for line in text.splitlines() if 'TRACESMITH' not in line and
                not line.startswith('Instance Layers: count')]

    run = Recorded(['vulkaninfo', '--summary'], folder, output=without_us)
    run.trace().complete().count('vkDestroyInstance', 1)


def vkcube(folder):
    need('vkcube', 'xvfb-run')
    run = Recorded(['xvfb-run', '-a', 'vkcube', '--c', '300', '--present_mode', '0'], folder)
    trace = run.trace().complete()
    trace.count('vkQueuePresentKHR', 300)
    trace.count('vkQueueSubmit', 301)
    # Those of a frame while the device draws another are one record of runs.
    equal('host writes', len(trace.of('host_write') + trace.of('host_runs')) >= 300, True)


def ffmpeg(folder):
    need('ffmpeg')
    run = Recorded(
        ['ffmpeg', '-hide_banner', '-loglevel', 'error', '-init_hw_device', 'vulkan=vk:0',
         '-filter_hw_device', 'vk', '-f', 'lavfi', '-i',
         'testsrc2=size=320x240:rate=10:duration=0.5', '-vf',
         'format=yuv420p,hwupload,avgblur_vulkan=sizeX=5:sizeY=5,hwdownload,format=yuv420p',
         '-f', 'md5', '-'], folder)
    trace = run.trace().complete()
    equal('planes that came back', len(trace.of('checksum')), 15)
    frames = 5 * 320 * 240 * 3 // 2
    equal('bytes of uploads', sum(w['args']['size'] for w in trace.of('host_write')) >= frames,
          True)


def main():
    if not drivers():
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory(prefix='ts-vulkan.') as folder:
        globals()[sys.argv[1]](folder)


main()
