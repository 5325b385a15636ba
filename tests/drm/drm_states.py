# SPDX-License-Identifier: Apache-2.0
"""States of submits of DRM (`tsview --states`), and hangs (`tracesmith graph --hang`). usage: drm_states.py FIRST COUNT

Of submits made of a number (drm_order) those have finished, and those wait for others, of which a simple recomputation says so;
drm_hangs hangs. Meson gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, FAKE, ORDER, HANGS."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from drm_graph import CAPTURE, FAKE, ORDER, TOOL, Naive, record
from loose_states import States, check_cover, ends, states

HANGS = os.environ['TS_TEST_HANGS']
SUBMIT, BATCH = 'DRM_IOCTL_AMDGPU_CS', 'DRM_IOCTL_I915_GEM_EXECBUFFER2'


# ---- made of a number

def unfinished(graph):
    """The commands that no wait of the host says to have ended."""
    over = graph.over()
    return set(graph.commands) - set().union(*(over[seq] for seq, node in graph.nodes.items() if not node['command']))


def stuck(graph, left, unsure):
    """Those that wait for others that are left, or are behind such a one on their stream: command -> these."""
    waits = {seq: {edge['from'] for edge in graph.edges if edge['to'] == seq} & left for seq in left}
    found = {}
    for places in graph.on_stream.values():
        before = None
        for _, seq in sorted(places):
            if seq not in left:
                continue
            is_behind = before is not None and (before in found or before in unsure)
            if waits[seq] or is_behind:
                found[seq] = waits[seq] | ({before} if is_behind else set())
            before = seq
    return found


def check(folder, driver, seed):
    trace = folder / f'{driver}{seed}.sbt'
    graph = record(trace, driver, ORDER, driver, str(seed))
    s = States(TOOL, trace)
    s.check()
    left, unsure = unfinished(graph), Naive(graph).unsure
    waiting = stuck(graph, left, unsure)
    rows = {seq: rows[0] for seq, rows in s.rows.items() if rows[0]['state'] == 'not finished'}
    assert set(rows) == left, (driver, seed, sorted(set(rows) ^ left))
    assert all(row['state'] == 'sent' for seq, rows in s.rows.items() if seq not in left for row in rows)
    for seq, row in rows.items():
        assert row['by'] in waiting.get(seq, {None}), (driver, seed, row, waiting.get(seq))
        if seq in waiting:
            assert row['reason'] in ('signal', 'stream'), row
        else:
            assert row['reason'] == ('signal' if seq in unsure else 'unknown'), (driver, seed, row)
    return len(waiting), len(left & unsure - set(waiting))


# ---- hangs

def hang(way, driver='amdgpu', **more):
    """Records a program until it says that it hangs; returns what is said of its commands, and who has finished."""
    environment = {**os.environ, 'LD_PRELOAD': f'{CAPTURE}:{FAKE}', 'TS_OUTPUT': 'a.sbt', 'FAKE_DRM': driver,
                   'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0', **more}
    for old in pathlib.Path().glob('a.sbt*'):
        old.unlink()
    with subprocess.Popen([HANGS, way], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        if way == 'goes_on':
            assert program.wait(timeout=30) == 0
        else:
            assert program.stdout.readline() == 'hangs\n'
            try:
                program.wait(timeout=1)
                raise AssertionError(f'{way} does not hang')
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGKILL)
    done = subprocess.run([TOOL, 'graph', '--hang', '--json', 'a.sbt'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (way, done.returncode, done.stdout, done.stderr)
    assert 'left out' not in done.stderr, done.stderr
    found, answer = json.loads(done.stdout), states(TOOL, 'a.sbt')
    check_cover(answer)
    assert answer['passed_count'] == 0 and not answer['findings'] and not found['cycles'], answer
    assert [row[2:] for row in ends(answer)] == [(row['reason'], row['before']) for row in found['commands']], (found, answer)
    assert [row['seq'] for row in found['open_ends']] == [row['seq'] for row in found['commands'] if row['before'] is None]
    return found, answer


def sent(answer):
    """The places among all submits by their records."""
    seqs = sorted({row['seq'] for row in answer['commands']})
    return {seq: place for place, seq in enumerate(seqs)}


def check_waits(way, expected, call='DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT', **more):
    """`expected`: of each submit that has not finished (place, reason, place of the one before, value, object, note)."""
    found, answer = hang(way, **more)
    places = sent(answer)
    rows = [(places[r['seq']], r['reason'], places.get(r['before']), r['value'], r['address'], r['note']) for r in found['commands']]
    assert rows == [(*row, *(None,) * (6 - len(row))) for row in expected], (way, rows)
    assert [row['call'] for row in found['calls']] == [call], found['calls']
    stacks = {stack['seq']: ' '.join(stack['frames']) for stack in found['stacks']}
    assert all('send_' in stacks[row['seq']] for row in found['open_ends']), stacks
    return answer


def check_hangs():
    unknown = 'whether it comes there is not known'
    check_waits('points', [(0, 'running'), (1, 'signal', 0, 'v >= 2', 'syncobj#1'), (2, 'signal', 1, 'v >= 2', 'ctx#2'),
                           (3, 'stream', 2), (4, 'signal', 1, None, 'syncobj#2')])
    check_waits('copied', [(1, 'running'), (2, 'running'), (3, 'signal', 2, 'v >= 9', 'syncobj#2')])
    check_waits('signalled', [(0, 'running'), (1, 'running'), (2, 'running'), (3, 'running'), (4, 'signal', 3, None, 'syncobj#2')])
    check_waits('unseen', [(0, 'running'), (1, 'signal', 0, 'v >= 4', 'syncobj#1'), (2, 'signal', None, None, 'syncobj#2', unknown),
                           (3, 'signal', 2, 'v >= 77', 'ctx#2'), (4, 'stream', 3)])
    answer = check_waits('lost', [(0, 'running')], FAKE_DRM_LOST='2')
    assert [(row['call'], row['result']) for row in answer['rejected']] == [(SUBMIT, 'ECANCELED')], answer['rejected']
    check_waits('waits', [(1, 'running'), (2, 'running')])
    check_waits('objects', [(0, 'running'), (1, 'signal', 0, None, 'bo#1'), (2, 'running'), (3, 'stream', 2),
                            (4, 'signal', 1, None, 'bo#1')], 'DRM_IOCTL_I915_GEM_WAIT', driver='i915')
    found, answer = hang('goes_on')
    assert not found['commands'] and not found['calls'] and {row['state'] for row in answer['commands']} == {'sent'}, (found, answer)


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix='ts-drm.') as folder:
        os.chdir(folder)
        found = [check(pathlib.Path(folder), driver, seed) for driver in ('amdgpu', 'i915') for seed in range(first, first + count)]
        print(found)
        assert sum(waiting for waiting, _ in found) > count and (count < 12 or sum(unsure for _, unsure in found)), found
        check_hangs()


main()
