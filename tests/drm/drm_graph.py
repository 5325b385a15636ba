# SPDX-License-Identifier: Apache-2.0
"""The graph of dependencies of programs on DRM's ioctls. usage: drm_graph.py FIRST COUNT

Of submits made of a number (drm_order) the graph says just what a simple recomputation finds; of other drivers' submits, what
is said of syncobjs and memory objects is compared. Meson gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, FAKE (the
library that stands in for a GPU), ORDER, MODES and STEPS (programs), LACKS (drivers that the headers lack)."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose import Graph  # noqa: E402

CAPTURE, TOOL, FAKE, ORDER = (os.environ[f'TS_TEST_{name}'] for name in ('CAPTURE', 'TOOL', 'FAKE', 'ORDER'))
LACKS = os.environ['TS_TEST_LACKS'].split(',')
LATEST = float('inf')

# What the submits of each driver are to say, the last one of each call.
WRITES = 'over bo#1, over bo#1, ends bo#1'
WAITS = 'for bo#1@latest, for bo#1@latest'
SAID = {
    'vc4': {'VC4_SUBMIT_CL': 'for syncobj#5@latest, ends bo#1, ends bo#2, over syncobj#6, ends syncobj#6@1'},
    'v3d': {'V3D_SUBMIT_CL': 'for syncobj#5@latest part, ends bo#1, ends bo#2, over syncobj#6, ends syncobj#6@1',
            'V3D_SUBMIT_CSD': f'{WAITS}, for syncobj#5@latest, {WRITES}',
            'V3D_SUBMIT_TFU': 'for syncobj#5@latest, over syncobj#6, ends syncobj#6@1'},
    'panfrost': {'PANFROST_SUBMIT': 'for syncobj#1@latest, for syncobj#2@latest, '
                                    f'{WAITS}, over syncobj#6, ends syncobj#6@1, {WRITES}'},
    'lima': {'LIMA_GEM_SUBMIT': f'{WAITS}, for syncobj#5@latest, {WRITES}, over syncobj#6, ends syncobj#6@1'},
    'msm': {'MSM_GEM_SUBMIT': 'for bo#1@latest, for syncobj#5@3, ends bo#1'},
    'etnaviv': {'ETNAVIV_GEM_SUBMIT': 'for bo#1@latest, ends bo#1'},
    'tegra': {},
}


def record(trace, driver, *command):
    environment = {**os.environ, 'LD_PRELOAD': f'{CAPTURE}:{FAKE}', 'TS_OUTPUT': str(trace), 'FAKE_DRM': driver,
                   'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0'}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60)
    return Graph(TOOL, trace)


def items(value):
    """The structs of a list whose type another member says."""
    return next(iter(value.values())) or [] if value else []


class Syncobj:
    """What signals it: (point, commands that are over then). Point 1 where it has no points."""

    def __init__(self, raised=0):
        self.is_foreign = False
        self.begin(raised)

    def begin(self, raised=0):
        self.signals, self.raised, self.has_unseen = [], raised, False

    def is_unsure(self, point):
        """What brings it there, or to what it holds, is not in the trace."""
        best = max([s[0] for s in self.signals] + [self.raised])
        return self.is_foreign or self.has_unseen or best < (point or 1)

    def up_to(self, point):
        """Signals that bring it to a point: all up to it, and where none is just that, the first one beyond."""
        found = [s for s in self.signals if s[0] <= point]
        if point not in [s[0] for s in found]:
            found += sorted((s for s in self.signals if s[0] > point), key=lambda s: s[0])[:1]
        return found


def union(signals):
    return set().union(*(over for _, over in signals))


class Naive:
    """Sets of commands that are over, by the rules of syncobjs, rings and memory objects."""

    def __init__(self, graph):
        self.over, self.known, self.queues = {}, set(), {}  # one thread
        self.unsure = set()  # commands that wait for what is not in the trace
        self.syncobjs, self.rings, self.writers, self.readers = {}, {}, {}, {}
        for r in graph.records:
            if r['api'] == 'drm' and 'failed' not in r['flags'] and 'in' in r['args']:
                self.note(r, r['call'].removeprefix('DRM_IOCTL_'), r['args']['in'], r['args'].get('out'))

    def syncobj(self, handle):
        return self.syncobjs.setdefault(handle, Syncobj())

    # ---- commands

    def wait_for(self, handle, point):
        s = self.syncobj(handle)
        return set() if s.is_foreign or point and point <= s.raised else union(s.up_to(point or LATEST))

    def submit(self, r, begin, in_turn, waits, signals):
        queue = self.queues.setdefault(r['stream'], set())
        if in_turn:
            begin |= queue
        for handle, point in waits:
            begin |= self.wait_for(handle, point)
            if self.syncobj(handle).is_unsure(point):
                self.unsure.add(r['seq'])
        self.over[r['seq']] = begin
        self.queues[r['stream']] = ended = queue | begin | {r['seq']}
        for handle, point in signals:
            s = self.syncobj(handle)
            if s.is_foreign:
                continue
            if not point:
                s.begin()
            s.signals.append((point or 1, ended))
        return ended

    def amdgpu_cs(self, r, given, made):
        begin, waits, signals, uses, ring = set(self.known), [], [], [], None
        for chunk in given['chunks']:
            data, kind = items(chunk['chunk_data']), chunk['chunk_id'].removeprefix('AMDGPU_CHUNK_ID_')
            if kind == 'IB':
                ring = (given['ctx_id'], data[0]['ring'])
            elif kind == 'DEPENDENCIES':
                for dep in data:
                    begin |= union(s for s in self.rings[dep['ctx_id'], dep['ring']] if s[0] <= number(dep['handle']))
            elif kind == 'BO_HANDLES':
                uses = [entry['bo_handle'] for one in data for entry in one['bo_info_ptr']]
            elif kind.startswith('SYNCOBJ'):
                list_ = waits if kind.endswith(('_IN', '_WAIT')) else signals
                list_ += [(one['handle'], one.get('point', 0)) for one in data]
        ended = self.submit(r, begin, False, waits, signals)
        self.rings.setdefault(ring, []).append((number(made['handle']), ended))
        for bo in uses:
            self.readers.setdefault(bo, []).append(ended)

    def i915_execbuffer(self, r, given):
        begin, objects, waits, signals = set(self.known), given['buffers_ptr'], [], []
        for o in objects:
            if 'ASYNC' not in o['flags']:
                begin = begin.union(*self.writers.get(o['handle'], []))
                if 'WRITE' in o['flags']:
                    begin = begin.union(*self.readers.get(o['handle'], []))
        for handle, flags, point in fences_of(given['cliprects_ptr']):
            (signals if 'SIGNAL' in flags else waits).append((handle, point))
        ended = self.submit(r, begin, True, waits, signals)
        for o in objects:
            if 'WRITE' not in o['flags']:
                self.readers.setdefault(o['handle'], []).append(ended)
                continue
            if 'ASYNC' not in o['flags']:
                self.writers[o['handle']] = self.readers[o['handle']] = []
            self.writers[o['handle']] = self.writers.get(o['handle'], []) + [ended]
            self.readers[o['handle']] = list(self.readers.get(o['handle'], []))

    # ---- the host

    def learn(self, r, *found):
        self.known = self.known.union(*found)
        self.over[r['seq']] = self.known

    def reached(self, r, handle, point):
        self.learn(r, union(s for s in self.syncobj(handle).signals if s[0] <= (point or LATEST)))

    def wait(self, r, given, made):
        points = given.get('points') or [0] * len(given['handles'])
        listed = list(zip(given['handles'], points))
        if 'AVAILABLE' in given['flags']:
            listed = []
        elif not has_first_bit(given['flags']) and len(listed) > 1:
            listed = listed[made['first_signaled']:][:1]
        self.learn(r)
        for handle, point in listed:
            self.reached(r, handle, point)

    def transfer(self, given):
        from_, to = self.syncobj(given['src_handle']), self.syncobj(given['dst_handle'])
        source, point = given['src_point'] or LATEST, given['dst_point'] or 1
        has_unseen = from_.is_unsure(given['src_point'])
        if to.is_foreign:
            return
        if not given['dst_point']:
            to.begin()
        to.has_unseen |= has_unseen
        found = [] if not from_.is_foreign and source <= from_.raised else from_.up_to(source)
        to.signals += [(point, over) for _, over in found]
        if not found:
            to.raised = max(to.raised, point)

    def note(self, r, call, given, made):
        if call == 'AMDGPU_CS':
            self.amdgpu_cs(r, given, made)
        elif call.startswith('I915_GEM_EXECBUFFER2'):
            self.i915_execbuffer(r, given)
        elif call in ('SYNCOBJ_WAIT', 'SYNCOBJ_TIMELINE_WAIT'):
            self.wait(r, given, made)
        elif call == 'SYNCOBJ_QUERY':
            for handle, point in zip(given['handles'], made['points']):
                if point:
                    self.reached(r, handle, point)
        elif call == 'SYNCOBJ_CREATE':
            self.syncobjs[made['handle']] = Syncobj(int(has_first_bit(given['flags'])))
        elif call == 'SYNCOBJ_RESET':
            for handle in given['handles']:
                self.syncobj(handle).begin()
        elif call == 'SYNCOBJ_SIGNAL':
            for handle in given['handles']:
                self.syncobj(handle).begin(1)
        elif call == 'SYNCOBJ_TIMELINE_SIGNAL':
            for handle, point in zip(given['handles'], given['points']):
                self.syncobj(handle).raised = max(self.syncobj(handle).raised, point)
        elif call == 'SYNCOBJ_TRANSFER':
            self.transfer(given)
        elif call == 'SYNCOBJ_HANDLE_TO_FD' and not has_first_bit(given['flags']):
            self.syncobj(given['handle']).begin()
            self.syncobj(given['handle']).is_foreign = True
        elif call == 'AMDGPU_WAIT_CS':
            ring = self.rings.get((given['ctx_id'], given['ring']), [])
            self.learn(r, union(s for s in ring if s[0] <= number(given['handle'])))
        elif call == 'AMDGPU_WAIT_FENCES':
            fences = given['fences'] if given['wait_all'] else given['fences'][made['first_signaled']:][:1]
            self.learn(r, *(union(s for s in self.rings.get((f['ctx_id'], f['ring']), []) if s[0] <= f['seq_no']) for f in fences))
        elif call in ('AMDGPU_GEM_WAIT_IDLE', 'I915_GEM_WAIT', 'I915_GEM_BUSY', 'I915_GEM_SET_DOMAIN'):
            bo = given.get('handle') or given.get('bo_handle')
            readers = [] if call.endswith('DOMAIN') else self.readers.get(bo, [])
            self.learn(r, *self.writers.get(bo, []), *readers)


def has_first_bit(flags):
    """Tests for the flag that all of syncobjs' calls have as their first one: waits for all, made signalled, a sync file."""
    return flags.endswith('0x1') or any(name in flags for name in ('WAIT_ALL', 'CREATE_SIGNALED', 'SYNC_FILE'))


def number(name):
    return int(name.split('#')[1])


def fences_of(list_):
    """(syncobj, flags, point) of an array of i915's, or of the struct with points in its chain."""
    if 'drm_i915_gem_exec_fence' in list_:
        return [(f['handle'], f['flags'], 0) for f in list_['drm_i915_gem_exec_fence'] or []]
    found = []
    for ext in next(iter(list_.values())) or []:
        ext = next(iter(ext.values()))
        found += [(f['handle'], f['flags'], value) for f, value in zip(ext['handles_ptr'] or [], ext['values_ptr'] or [])]
    return found


def check(folder, driver, seed):
    graph = record(folder / f'{driver}{seed}.sbt', driver, ORDER, driver, str(seed))
    over, naive = graph.over(), Naive(graph).over
    assert over == graph.over(lambda edge: True), f'{driver} {seed}: an edge is redundant and says more than others'
    assert not graph.openings(), graph.openings()
    for seq in graph.nodes:
        assert over[seq] == naive.get(seq, set()), \
            f'{driver} {seed}: record {seq}: only here {sorted(over[seq] - naive.get(seq, set()))}, ' \
            f'only there {sorted(naive.get(seq, set()) - over[seq])}'
    shown = subprocess.run([TOOL, 'stream', '0', folder / f'{driver}{seed}.sbt'], capture_output=True, text=True, check=True).stdout
    assert all('(signal, ' in line or '(signal' not in line for line in shown.splitlines()), shown
    assert ('(signal, ' in shown) == any(edge['reason'] == 'signal' and not edge['redundant'] and graph.nodes[edge['to']]['stream'] == 0
                                         for edge in graph.edges), (driver, seed, shown)
    return sum(edge['reason'] == 'signal' for edge in graph.edges), sum(edge['reason'] == 'host' for edge in graph.edges)


def check_said(folder, driver):
    graph = record(folder / 'said.sbt', driver, os.environ['TS_TEST_MODES'], driver)
    lines = subprocess.run([os.environ['TS_TEST_STEPS'], folder / 'said.sbt'], capture_output=True, text=True, check=True).stdout.splitlines()
    said = {call.removeprefix('DRM_IOCTL_'): text for call, text in (line.split(': ', 1) for line in lines)}
    assert said == SAID[driver], (driver, said)
    assert graph.commands, driver


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix='ts-drm.') as folder:
        folder = pathlib.Path(folder)
        found = [check(folder, driver, seed) for driver in ('amdgpu', 'i915') for seed in range(first, first + count)]
        for driver, mode in (('nouveau', 'nouveau'), ('virtio_gpu', 'virtgpu')):
            graph = record(folder / 'one.sbt', driver, os.environ['TS_TEST_MODES'], mode)
            assert [edge['reason'] for edge in graph.edges] == ['host'], (driver, graph.edges)
        for driver in SAID:
            if driver not in LACKS:
                check_said(folder, driver)
    print(found)
    assert sum(signals for signals, _ in found) > 20 * count and sum(hosts for _, hosts in found) > 8 * count, found


if __name__ == '__main__':
    main()
