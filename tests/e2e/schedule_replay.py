#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsreplay --schedule`: programs are recorded in virtual time and sent again by schedules that are made here. The recorded order at
the recorded moments gives the recorded times; orders that the dependency graph allows give the same bytes, others do not, and what
cannot be carried out is refused with both records' numbers."""

import heapq
import json
import os
import pathlib
import random
import subprocess
import tempfile

BIN, CAPTURE, EMU, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
CALL, LATENCY = 700, 3000
# Few slots, so that kernels compete for them; copies take long enough to do so for their engine.
VIRTUAL = {'TS_EMU_TIME': 'virtual',
           'TS_EMU_MACHINE': f'block_slots=2,call_ns={CALL},launch_latency_ns={LATENCY},copy_latency_ns=4000,device_mbps=100'}
COMMANDS = ('command', 'signal', 'wait')
HEAD = 'tsschedule 1\n'


def run(words, env, status=None):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **env}, timeout=120)
    assert status is None or done.returncode == status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def record(name, words, env=None):
    run([PROGRAMS / words[0], *words[1:]], {**VIRTUAL, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': name, 'TS_GPU_TIME': '1', **(env or {}),
                                            'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}, 0)
    return Trace(name)


def tool(*words, status=0, env=None):
    return run([BIN / 'tracesmith', *words], env or {}, status).stdout


class Trace:
    def __init__(self, name):
        self.name = name
        self.records = [json.loads(line) for line in tool('view', '--json', name).splitlines()][1:]
        self.times = {(r['args']['of_stream'], r['args']['of_position']): (r['args']['start_ns'], r['args']['duration_ns'])
                      for r in self.records if r['call'] == 'gpu_time'}
        self.by_seq = {r['seq']: r for r in self.records}
        self.commands = [r for r in self.records if r['kind'] in COMMANDS and r['stream'] is not None and r['position'] and
                         not {'failed', 'captured'} & set(r['flags'])]
        self.waits = [r for r in self.records if r['kind'] == 'sync' and 'failed' not in r['flags'] or r['call'] == 'complete']

    def order(self):
        return [r['seq'] for r in self.commands]

    def seqs(self, call, stream=None):
        return [r['seq'] for r in self.records if r['call'].startswith(call) and (stream is None or r['stream'] == stream)]

    def clocks(self):
        """The clock of the one thread at each call that sends, by the rules of docs/emu.md. Streams here do not join others."""
        clock, ends, events, at, pinned = 0, {}, {}, {}, []
        for r in self.records:
            args = r['args']
            if {'failed', 'captured'} & set(r['flags']):
                continue
            if r['call'] == 'cuMemHostAlloc':
                pinned.append((int(str(args['pp']), 0), int(str(args['pp']), 0) + args['bytesize']))
            if r['kind'] == 'sync':
                clock += CALL
                if r['stream'] is not None:
                    clock = max(clock, ends.get(r['stream'], 0))
                else:
                    clock = max([clock, *([events.get(args['hEvent'], 0)] if 'hEvent' in args else ends.values())])
            if r['kind'] not in COMMANDS or r['stream'] is None or not r['position']:
                continue
            at[r['seq']] = clock
            clock += CALL
            end = max(clock + LATENCY, ends.get(r['stream'], 0))
            if r['kind'] == 'wait':
                end = max(end, events.get(args['hEvent'], 0))
            if (r['stream'], r['position']) in self.times:
                end = sum(self.times[r['stream'], r['position']])
            ends[r['stream']] = end
            if r['kind'] == 'signal':
                events[args['hEvent']] = end
            to = int(str(args.get('dstHost', 0)), 0)
            if 'DtoH' in r['call'] and not any(a <= to < b for a, b in pinned):
                clock = max(clock, end)
        return at

    def random_order(self, seed):
        """Commands and waits in an order that keeps all edges, and what no edge is about: an event's next signal comes after the
        waits for the one before; what changes or frees something stays where it is."""
        graph = json.loads(tool('graph', '--json', self.name))
        nodes = [n['seq'] for n in graph['nodes'] if self.by_seq[n['seq']] in self.commands or self.by_seq[n['seq']] in self.waits]
        before = {seq: set() for seq in nodes}
        for edge in graph['edges']:
            if edge['to'] in before and edge['from'] in before:
                before[edge['to']].add(edge['from'])
        users, segment, fixed = {}, {}, 0
        for r in self.records:
            if r['kind'] in ('destroy', 'state', 'other') or r['call'] == 'host_write':
                fixed += 1
            if r['seq'] not in before:
                continue
            segment[r['seq']] = fixed
            event = r['args'].get('hEvent')
            if r['kind'] == 'signal':
                before[r['seq']] |= users.get(event, set())
                users[event] = {r['seq']}
            elif event:
                users.setdefault(event, set()).add(r['seq'])
        chance = random.Random(seed)
        after, count = {}, {}
        for seq, list_ in before.items():
            count[seq] = len(list_)
            for other in list_:
                after.setdefault(other, []).append(seq)
        ready = [(segment[seq], chance.random(), seq) for seq in nodes if not count[seq]]
        heapq.heapify(ready)
        order = []
        while ready:
            seq = heapq.heappop(ready)[2]
            order.append(seq)
            for other in after.get(seq, ()):
                count[other] -= 1
                if not count[other]:
                    heapq.heappush(ready, (segment[other], chance.random(), other))
        assert len(order) == len(nodes), 'a circle'
        return order

    def lines(self, order):
        return ''.join(('send' if self.by_seq[seq] in self.commands else 'wait') + f' {seq}\n' for seq in order)

    def replay(self, text, *options, env=None):
        pathlib.Path('s.txt').write_text(HEAD + text, encoding='utf-8')
        done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--json', '--timeout', '20', '--schedule', 's.txt', *options,
                    self.name], VIRTUAL if env is None else env)
        lines = done.stdout.strip()
        assert done.returncode >= 0, (text, done)
        return json.loads(lines) if lines else {}, done

    def verdict(self, text, *options, env=None):
        result, done = self.replay(text, *options, env=env)
        return result.get('verdict') or done.stderr


def moved(order, seq, to, behind=False):
    """The order with `seq` before (or behind) `to`."""
    rest = [s for s in order if s != seq]
    at = rest.index(to) + behind
    return rest[:at] + [seq] + rest[at:]


def check_times():
    """The recorded order at the recorded moments gives the recorded times; also in a second run, which begins later."""
    pairs = 0
    for words in (['weave', '3', '40', 'e'], ['weave', '4', '60', 'ew'], ['weave', '5', '60', 'ew'], ['reorders', 'events'],
                  ['reorders', 'host'], ['reorders', 'results'], ['pipeline', '6']):
        trace = record('times.sbt', words)
        clocks = trace.clocks()
        text = ''.join(f'send {seq} at={at}\n' for seq, at in clocks.items())
        for runs in '1:0', '1:1':
            pathlib.Path('timed.sbt').unlink(missing_ok=True)
            result, done = trace.replay(text, f'--time={runs}', '-o', 'timed.sbt')
            assert result.get('verdict') == 'same', (words, result, done.stderr)
            timed = Trace('timed.sbt')
            assert timed.times == trace.times, (words, runs, {k: (v, timed.times.get(k)) for k, v in trace.times.items()
                                                              if timed.times.get(k) != v})
        pairs += len(trace.times)
        # Earlier, or all at once: other times, the same bytes.
        late = ''.join(f'send {seq} at={at + 100000}\n' for seq, at in clocks.items())
        pathlib.Path('timed.sbt').unlink()
        assert trace.verdict(late, '--time=1:0', '-o', 'timed.sbt') == 'same'
        assert Trace('timed.sbt').times == {k: (v[0] + 100000, v[1]) for k, v in trace.times.items()}, words
    assert pairs > 200, pairs


def check_orders():
    """Legal orders are the same, in virtual time and on concurrent streams."""
    changed = 0
    for words in (['weave', '7', '60', 'e'], ['weave', '8', '60', 'ew'], ['weave', '9', '50', 'egw'], ['weave', '2', '80', 'egvpw'], ['pipeline', '6'], ['streams'],
                  ['reorders', 'events'], ['reorders', 'contexts'], ['reorders', 'free']):
        trace = record('orders.sbt', words)
        assert trace.verdict(trace.lines(trace.order())) == 'same', words
        for seed in range(20 if words[0] == 'weave' else 6):
            order = trace.random_order(seed)
            changed += order != sorted(order)
            env = VIRTUAL if seed % 2 else {'TS_EMU_STREAMS': 'serial', 'TS_EMU_SCHEDULE': f'random:{seed + 1}'} if seed % 4 else {}
            result, done = trace.replay(trace.lines(order), env=env)
            assert result.get('verdict') == 'same', (words, seed, order, result, done.stderr)
    assert changed > 60, changed


def check_broken():
    trace = record('events.sbt', ['reorders', 'events'])
    order = trace.order()
    copy = trace.seqs('cuMemcpyDtoDAsync')
    signal, unneeded_signal = trace.seqs('cuEventRecord')
    unneeded, needed = trace.seqs('cuStreamWaitEvent')
    assert trace.verdict(trace.lines(order)) == 'same'
    # What waits for the event, and uses what it waits for, is sent before the event is recorded: nothing is waited for.
    broken = moved(moved(order, signal, copy[1], behind=True), needed, copy[1])
    assert trace.verdict(trace.lines(broken)) == 'different', broken
    # The same order for the device: the wait before the event that says nothing.
    assert trace.verdict(trace.lines(moved(order, unneeded, unneeded_signal))) == 'same'
    # Two commands of one stream are swapped: the file's order counts.
    assert trace.verdict(trace.lines(moved(order, copy[0], trace.seqs('cuLaunchKernel')[0]))) == 'different'
    # Memory in between is another one then, and cannot be compared (row R29).
    sums = record('sums.sbt', ['reorders', 'events'], {'TS_CHECKSUM': 'submit'})
    order = sums.order()
    assert sums.verdict(sums.lines(order)) == 'same'
    result, done = sums.replay(sums.lines(moved(order, sums.seqs('cuEventRecord')[1], sums.seqs('cuMemcpyDtoDAsync')[0])))
    assert result['verdict'] == 'cannot_tell' and not result['difference_count'] and result['uncompared_count'] > 0, (result, done)
    assert 'by the schedule other commands were carried out by then' in result['why'], result
    order = trace.order()
    # Waits in streams and of the host are left out.
    drop = lambda seq: trace.lines([s for s in order if s != seq]) + f'drop {seq}\n'
    assert trace.verdict(drop(needed)) == 'different'
    assert trace.verdict(drop(unneeded)) == 'same'
    # A swap on one stream that changes nothing: results are found by their command.
    results = record('results.sbt', ['reorders', 'results'])
    waits = [r['seq'] for r in results.waits]
    assert results.verdict(results.lines(results.order()) + ''.join(f'drop {seq}\n' for seq in waits[-1:])) == 'same'
    host = record('host.sbt', ['reorders', 'host'])
    text = host.lines(host.order())
    unneeded, needed = [r['seq'] for r in host.waits if r['stream'] is not None][:2]
    assert host.verdict(text + f'drop {unneeded}\n') == 'same'
    assert host.verdict(text + f'drop {needed}\n') == 'different'
    # A wait moved behind what it was for, and one at its recorded place.
    last = host.seqs('cuMemcpyDtoDAsync')[1]
    late = text.replace(f'send {last}\n', f'send {last}\nwait {needed}\n')
    assert host.verdict(late) == 'different'
    assert host.verdict(text.replace(f'send {last}\n', f'wait {needed}\nsend {last}\n')) == 'same'


def check_host():
    # The program sends what it has read back: that it needed it the replay cannot know, it has the bytes (row R30).
    trace = record('upload.sbt', ['reorders', 'upload'])
    order, text = trace.order(), trace.lines(trace.order())
    down, up = trace.seqs('cuMemcpyDtoHAsync')[0], trace.seqs('cuMemcpyHtoDAsync')[0]
    wait = next(r['seq'] for r in trace.waits if r['stream'] == trace.by_seq[down]['stream'])
    assert trace.verdict(text) == 'same'
    for changed in text + f'drop {wait}\n', trace.lines(moved(order, up, down)):
        result, done = trace.replay(changed)
        assert result['verdict'] == 'cannot_tell' and result['ahead_count'] == 1 and result['difference_count'] == 0, (result, done)
        assert f'record {up} ' in result['why'], result
    # The program writes other bytes into pinned memory that an earlier copy has still to read; another place is another thing.
    pinned = record('pinned.sbt', ['reorders', 'pinned'])
    text, copies = pinned.lines(pinned.order()), pinned.seqs('cuMemcpyHtoDAsync')
    assert pinned.verdict(text) == 'same'
    wait = next(r['seq'] for r in pinned.waits if copies[0] < r['seq'] < copies[1])
    for changed in text + f'drop {wait}\n', pinned.lines(moved(pinned.order(), copies[0], copies[2], behind=True)):
        result, done = pinned.replay(changed)
        assert result['verdict'] == 'cannot_tell' and result['ahead_count'] and not result['difference_count'], (result, done)
        assert f'came before record {copies[0]} ' in result['why'], result
    assert pinned.verdict(pinned.lines(moved(pinned.order(), copies[1], copies[0]))) == 'same'
    # A copy to other memory of the host passes that write.
    back = pinned.seqs('cuMemcpyDtoHAsync')[0]
    assert pinned.verdict(pinned.lines(moved(pinned.order(), back, copies[2], behind=True))) == 'same'
    # Orders that writes of the host, frees and functions of the program do not allow.
    for way, first, second, between in (('mapped', ('cuMemcpyDtoDAsync', 1), ('cuMemcpyDtoDAsync', 2), 'host_write'),
                                        ('free', ('cuLaunchKernel', 1), ('cuLaunchKernel', 2), 'cuMemFree_v2'),
                                        ('function', ('cuLaunchHostFunc', 1), ('cuLaunchHostFunc', 2), None)):
        trace = record(f'{way}.sbt', ['reorders', way])
        order = trace.order()
        assert trace.verdict(trace.lines(order)) == 'same', way
        early, late = trace.seqs(*second)[0], trace.seqs(*first)[0]
        result, done = trace.replay(trace.lines(moved(order, early, late)))
        assert done.returncode == 2 and f'record {early} before record {late}' in done.stderr, (way, result, done)
        assert between is None or f', {between}, ' in done.stderr, (way, done)
    # What uses no memory of the host may pass a write of it.
    trace = record('mapped.sbt', ['reorders', 'mapped'])
    order = trace.order()
    kernel, copy = trace.seqs('cuLaunchKernel', 1)[0], trace.seqs('cuMemcpyDtoDAsync', 2)[0]
    assert trace.verdict(trace.lines(moved(order, copy, kernel, behind=True))) == 'same'
    assert trace.verdict(trace.lines(moved(order, kernel, copy))) == 'same'
    # The context is that in which a command was sent, wherever it is sent now.
    trace = record('contexts.sbt', ['reorders', 'contexts'])
    order = trace.order()
    other, own = trace.seqs('cuMemsetD32Async')
    first = trace.seqs('cuMemcpyDtoD_v2')[0]
    for changed in moved(order, other, own, behind=True), moved(order, first, other, behind=True):
        result, done = trace.replay(trace.lines(changed))
        assert result.get('verdict') == 'same', (changed, result, done.stderr)


def check_files():
    trace = record('files.sbt', ['reorders', 'events'])
    good = trace.lines(trace.order())
    (one, two), free = trace.order()[:2], trace.seqs('cuMemAlloc')[0]
    wait, in_stream = trace.waits[0]['seq'], trace.seqs('cuStreamWaitEvent')[0]
    assert trace.verdict('# a comment\n\n\t ' + good.replace('\n', '  # what\r\n')) == 'same'

    def refused(text, line, *parts):
        """`line`: the number that the message has, None: none."""
        result, done = trace.replay(text)
        assert done.returncode == 2 and 's.txt' in done.stderr, (text[:200], result, done)
        assert line is None or f's.txt:{line}: ' in done.stderr, (line, done.stderr)
        for part in parts:
            assert part in done.stderr, (part, done.stderr)
        pathlib.Path('bad.txt').write_text(HEAD + text, encoding='utf-8')
        # A dry run finds it, too.
        run([BIN / 'tracesmith', 'replay', '-n', '--device', 'emu', '--schedule', 'bad.txt', trace.name], {}, 2)

    count = good.count('\n')
    refused(good + 'send 999999\n', count + 2, 'record 999999')
    refused(good + f'send {free}\n', count + 2, f'record {free} is no command')
    refused(f'drop {free}\n' + good, 2, f'record {free} is no command')
    refused(good + f'send {one}\n', count + 2, f'names record {one}', 'line 2 has already')
    refused(good.replace(f'send {one}\n', ''), None, f'has no record {one}, ', f'add "send {one}"')
    refused(good.replace(f'send {one}\n', f'drop {one}\n'), 2, 'cannot be left out')
    refused(good.replace(f'send {one}\n', f'wait {one}\n'), 2, '"send" it')
    refused(good + f'send {wait}\n', count + 2, '"drop" it')
    refused(good + f'wait {in_stream}\n', count + 2, 'already')
    for word in '', 'x', '-1', '1x', '0x10', '18446744073709551615', '99999999999999999999999', '+1', '1.5':
        refused(good + f'send {word}\n', count + 2)
    for rest in ('at', 'at=', 'at=x', 'at=-1', 'at=1 2', 'at=1 at=2', 'to=3', 'at=1000000000000000001', 'on', 'on=', 'on=x', 'on=-1', 'on=4096', 'on=0 on=1',
                 'after=1', 'on=0 after=', 'on=0 after=1,', 'on=0 after=x', 'on=0 after=1 after=1', 'at=1 on=0 after=1 on=2'):
        refused(good.replace(f'send {one}\n', f'send {one} {rest}\n'), 2)
    for rest in (f'after={one}', f'after={two}', 'after=999999'):
        refused(good.replace(f'send {one}\n', f'send {one} on=0 {rest}\n'), 2, 'which no line above sends')
    refused(good + f'wait {wait} after={one}\n', None, 'which no line above sends')
    refused(f'wait {wait} on=3\n' + good, 2, 'only what is sent')
    refused(f'wait {wait} at=3\n' + good, 2)
    refused('post 3\n', 2, 'does not begin with')
    refused('send ' + '0' * 3000 + '\n', 2, 'longer than 2047')
    refused('a\0b\n', 2, 'no text')
    refused('send 1\n' * 100000, None)
    for name, content in (('empty', b''), ('blank', b'\n # nothing\n'), ('binary', bytes(range(256)) * 100), ('zeros', bytes(70000)),
                          ('long', b'x' * 1000000), ('trace', pathlib.Path(trace.name).read_bytes()), ('other', b'tsschedules 1\n'),
                          ('newer', b'tsschedule 2\nsend 1\n'), ('head', b'tsschedule\n'), ('headless', good.encode())):
        pathlib.Path(name).write_bytes(content)
        done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--schedule', name, trace.name], {}, 2)
        assert f'{name}:' in done.stderr and len(done.stderr) < 1000, done
    for name in 'none.txt', '.':
        done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--schedule', name, trace.name], {}, 2)
        assert f'{name}: cannot be' in done.stderr, done
    if os.geteuid() != 0:
        pathlib.Path('mine.txt').touch(0)
        done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--schedule', 'mine.txt', trace.name], {}, 2)
        assert 'mine.txt: cannot be opened' in done.stderr, done
    # Bytes that are changed by chance are refused, or lead to an answer.
    chance = random.Random(1)
    for _ in range(60):
        bad = bytearray((HEAD + good).encode())
        for _ in range(chance.randrange(1, 4)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        pathlib.Path('bad.txt').write_bytes(bad)
        done = run([BIN / 'tracesmith', 'replay', '-n', '--device', 'emu', '--schedule', 'bad.txt', trace.name], {})
        assert done.returncode in (0, 2), done


def check_hang():
    """A copy that blocks waits for a value that the schedule has behind it: an end, and a message."""
    trace = record('values.sbt', ['weave', '3', '40', 'vw'])
    order = trace.order()
    write = trace.seqs('cuStreamWriteValue32')[0]
    result, done = trace.replay(trace.lines(moved(order, write, order[-1], behind=True)), '--timeout', '3')
    assert done.returncode == 2 and 'no progress' in done.stderr, (result, done)


def check_options():
    trace = record('options.sbt', ['reorders', 'events'])
    text = trace.lines(trace.order())
    assert trace.verdict(text, '--loop=3') == 'same'
    assert trace.verdict(text, '--loop=3', env={}) == 'same'
    result, done = trace.replay(text, '--time=3:1')
    assert result['verdict'] == 'same' and result['times']['run_count'] == 3, (result, done)
    assert trace.replay(text, '-n')[1].returncode == 0
    for option in '--streams=1', '--range=20:25', '--check=2', '--grain=sync', '--pace=recorded', '--pace=stepped', '--order=permuted:2':
        result, done = trace.replay(text, option)
        assert done.returncode == 2 and 'schedule' in done.stderr, (option, result, done)
    # Without virtual time "at" is not before; a pause that is longer than the timeout is refused, not made.
    order = trace.order()
    slow = trace.lines(order[:-1]) + f'send {order[-1]} at=300000000\n'
    result, done = trace.replay(slow, env={})
    assert result['verdict'] == 'same' and result['elapsed_ns'] > 200000000, (result, done)
    never = trace.lines(order[:-1]) + f'send {order[-1]} at=900000000000000000\n'
    result, done = trace.replay(never, env={})
    assert done.returncode == 2 and 'longer than --timeout' in done.stderr, (result, done)
    assert trace.verdict(never) == 'same'  # virtual time costs nothing


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in check_files, check_broken, check_host, check_hang, check_options, check_times, check_orders:
            check()
            print(check.__name__)


if __name__ == '__main__':
    main()
