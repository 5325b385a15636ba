# SPDX-License-Identifier: Apache-2.0
"""States of submits of DRM (`tsview --states`), and hangs (`tracesmith graph --hang`). usage: drm_states.py FIRST COUNT

Of submits made of a number (drm_order) those have finished, and those wait for others, of which a simple recomputation says so;
with times of the kernel's rings they run when those say. drm_hangs hangs. Meson gives the places in the environment, TS_TEST_X:
CAPTURE, TOOL, FAKE, ORDER, HANGS, ALTER."""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile

from drm_graph import CAPTURE, FAKE, ORDER, TOOL, Naive, record
import loose
import loose_critical
from loose_states import States, check_cover, ends, states

HANGS, ALTER = os.environ['TS_TEST_HANGS'], os.environ['TS_TEST_ALTER']
STREAM_INFO, SUBMIT_EVENT, START, END, COMPLETE = 1, 4, 5, 6, 7  # of the kernel's records
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
    free = [seq for seq, row in rows.items() if row['reason'] == 'unknown'][:1]
    for seq in free:  # a ring took it, and told of no end
        answer = states(TOOL, add_jobs(trace, graph, {seq: (graph.commands[seq]['time_ns'] + 5000, None, 0)}))
        assert [row['reason'] for row in answer['commands'] if row['seq'] == seq] == ['running'], (driver, seed, seq)
    return len(waiting), len(left & unsure - set(waiting)), len(free)


# ---- times of rings

def numbered(r):
    """The number that the kernel gave the submit; 0: none."""
    return int(r['args']['out']['handle'].split('#')[1]) if r['call'] == SUBMIT else 0


def add_jobs(trace, graph, jobs):
    """`jobs`: submit -> (START or None, END or None, errno), in ns after the session's start."""
    shown = subprocess.run([TOOL, 'view', '--json', trace], capture_output=True, text=True, check=True).stdout
    head = json.loads(shown.split('\n', 1)[0])
    start, pid = head['start_monotonic_ns'], int(head['metadata']['process.pid'])
    events = [(0, STREAM_INFO, 0, None, 0)]
    for seq, (begin, end, errno) in jobs.items():
        r = graph.commands[seq]
        events.append((r['time_ns'] + r['duration_ns'] // 2, SUBMIT_EVENT, seq, r, 0))
        events += [(begin, START, seq, r, 0)] if begin else []
        events += [(end, END, seq, r, 0), (end + 10, COMPLETE, seq, r, errno)] if end else []
    out = b''
    for count, (at, kind, seq, r, value) in enumerate(sorted(events, key=lambda event: event[:3])):
        body = bytes(64) if kind == STREAM_INFO else b''
        out += struct.pack('<HBBHBBQQIIIIQQQ', 64 + len(body), kind, 0, 0, 1, 1, start + at, count, kind != STREAM_INFO, pid, count,
                           r['thread'] if r else 0, 1000 + seq, (numbered(r) or seq) if r else 0, value) + body
    pathlib.Path(f'{trace}.events').write_bytes(out)
    pathlib.Path(f'{trace}.rings').unlink(missing_ok=True)
    subprocess.run([ALTER, trace, f'{trace}.rings', 'kernel', f'{trace}.events'], check=True)
    return f'{trace}.rings'


def run_jobs(graph, draw):
    """Times of a device that takes jobs early, holds them until what they wait for has ended, and ends those of a ring in order.
    Some jobs have no START, and some none at all."""
    over, ends, last, jobs = graph.over(), {}, {}, {}
    calls = [r['time_ns'] for r in graph.commands.values()]
    apart = (max(calls) - min(calls)) // len(calls) + 4
    for seq, r in sorted(graph.commands.items()):
        taken = r['time_ns'] + r['duration_ns'] // 2 + draw.randrange(1, apart)
        begin = max([taken] + [ends[before] for before in over[seq]])
        ends[seq] = last[r['stream']] = max(begin + draw.randrange(1, 4 * apart), last.get(r['stream'], 0))
        if draw.randrange(8):
            jobs[seq] = taken if draw.randrange(6) else None, ends[seq], 0
    return jobs


def check_rings(folder, driver, seed):
    trace = folder / f'{driver}{seed}.sbt'
    graph = record(trace, driver, ORDER, driver, str(seed))
    jobs = run_jobs(graph, random.Random(seed))
    s = States(TOOL, add_jobs(trace, graph, jobs))
    taken = {seq: (begin, end) for seq, (begin, end, _) in jobs.items() if begin}
    s.times = taken
    ready = s.ready()
    s.times = {seq: (max(begin, min(ready[seq], end)), end) for seq, (begin, end) in taken.items()}
    count = s.check()
    for seq, (begin, end, _) in jobs.items():
        assert s.rows[seq][-1]['state'] != 'not finished', (driver, seed, s.rows[seq])
        assert begin or s.rows[seq][-1]['end_ns'] <= end, (driver, seed, s.rows[seq], end)
    loose_critical.check_cover(loose_critical.critical(TOOL, s.graph.trace, '--list'))
    return count


def check_times():
    """A job that was taken before the one that it waits for had ended runs from then on; one that ends before that is a finding; one
    of which the ring says that it failed has failed."""
    hang('points')
    graph = loose.Graph(TOOL, 'a.sbt')
    first, second, third, _, last = sorted(graph.commands)
    at = graph.commands[last]['time_ns'] + 10000
    jobs = {first: (at, at + 5000, 0), second: (at + 100, at + 9000, 62), third: (None, at + 9500, 0)}
    answer = states(TOOL, add_jobs('a.sbt', graph, jobs))
    rows = {seq: [(row['state'], row['reason'], row['by'], row['end_ns'] - at) for row in answer['commands'] if row['seq'] == seq]
            for seq in graph.commands}
    assert rows[first][-1] == ('running', None, None, 5000), rows
    assert rows[second] == [('wait', 'signal', first, 5000), ('failed', None, None, 9000)], rows
    assert rows[third][0] == ('wait', 'signal', second, 9000) and rows[third][-1] == ('sent', 'no time', None, 9500), rows
    assert [rows[last][0][:2]] == [('not finished', 'running')] and len(rows[last]) == 1, rows
    assert not answer['findings'], answer['findings']
    jobs[second] = at + 100, at + 4000, 0
    answer = states(TOOL, add_jobs('a.sbt', graph, jobs))
    assert [(row['seq'], row['before'], row['by_ns']) for row in answer['findings']] == [(second, first, 1000)], answer['findings']
    found = hanging(add_jobs('a.sbt', graph, {first: (at, None, 0)}))
    assert [(row['seq'], row['reason'], row['note']) for row in found['open_ends']] == \
        [(first, 'running', 'its ring took it, and told of no end')], found['open_ends']


# ---- hangs

def hanging(trace):
    done = subprocess.run([TOOL, 'graph', '--hang', '--json', trace], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and 'left out' not in done.stderr, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


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
    found, answer = hanging('a.sbt'), states(TOOL, 'a.sbt')
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
    check_waits('again', [(0, 'running'), (1, 'signal', 0, None, 'syncobj#4')])
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
        waits = [check_rings(pathlib.Path(folder), driver, seed) for driver in ('amdgpu', 'i915') for seed in range(first, first + count)]
        print(waits)
        assert sum(waits) > 4 * count, waits
        check_times()
        assert sum(waiting for waiting, *_ in found) > count and all(count < 12 or sum(row[i] for row in found) for i in (1, 2)), found
        check_hangs()


main()
