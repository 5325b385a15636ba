#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs in virtual time against a model written from docs/emu.md alone, and each several times at once,
so that the machine is busy: the times are the same.

usage: emu_virtual_test.py PROGRAM [SEED]"""
import os
import subprocess
import sys

SLOTS, KERNEL, CALL, LATENCY, COPY, FUNCTION = 4, 100, 10, 50, 20, 300
STREAMS = 5
BLOCKING = (1, 2)
PRIORITY = (0, 0, 0, 0, -1)


class Command:
    def __init__(self, model, stream, kind, *size):
        self.stream, self.kind, self.size = stream, kind, size
        self.arrival = model.now + LATENCY
        self.after = []  # commands
        self.start = self.end = None


class Model:
    def __init__(self):
        self.now = 0
        self.queues = [[] for _ in range(STREAMS)]
        self.sent = [[] for _ in range(STREAMS)]
        self.events = {}
        self.slots = [0] * SLOTS
        self.engines = {'to_device': 0, 'to_host': 0, 'function': 0}

    def joined(self, stream):
        """The streams that commands of this one wait for as they are now."""
        if stream == 0:
            return list(BLOCKING)
        return [0] if stream in BLOCKING else []

    def send(self, stream, kind, *size, after=()):
        self.now += CALL
        command = Command(self, stream, kind, *size)
        command.after = [*after, *(self.sent[s][-1] for s in [stream, *self.joined(stream)] if self.sent[s])]
        self.queues[stream].append(command)
        self.sent[stream].append(command)
        return command

    def ready(self, command):
        if any(c.end is None for c in command.after):
            return None
        return max([command.arrival, *(c.end for c in command.after)])

    def engine(self, name, ready, length):
        start = max(ready, self.engines[name])
        self.engines[name] = start + length
        return start, start + length

    def place(self, command, ready):
        if command.kind == 'kernel':
            blocks, length = command.size
            starts = []
            for _ in range(blocks):
                slot = min(range(SLOTS), key=lambda i: max(self.slots[i], ready))
                starts.append(max(self.slots[slot], ready))
                self.slots[slot] = starts[-1] + length
            return starts[0], starts[-1] + length + KERNEL
        if command.kind == 'to_device':
            return self.engine('to_device', ready, COPY + command.size[0])
        if command.kind == 'to_host':
            return self.engine('to_host', ready, COPY + 2 * command.size[0])
        if command.kind == 'function':
            return self.engine('function', ready, FUNCTION)
        return ready, ready + (-(-command.size[0] // 10) if command.kind == 'inside' else 0)

    def step(self, until):
        """Runs one command, if one is ready by then."""
        first = [(self.ready(q[0]), PRIORITY[s], s) for s, q in enumerate(self.queues) if q]
        first = [f for f in first if f[0] is not None and f[0] <= until]
        if not first:
            return False
        ready, _, stream = min(first)
        command = self.queues[stream].pop(0)
        command.start, command.end = self.place(command, ready)
        return True

    def wait(self, commands):
        self.now += CALL
        for command in commands:
            while command.end is None:
                assert self.step(float('inf'))
            self.now = max(self.now, command.end)

    def query(self, commands):
        self.now += CALL
        while self.step(self.now):
            pass
        return all(c.end is not None and c.end <= self.now for c in commands)

    def last(self, streams):
        return [self.sent[s][-1] for s in streams if self.sent[s]]


def simulate(lines):
    model, work, out = Model(), [], []
    for line in lines:
        name, *numbers = line.split()
        n = [int(number) for number in numbers]
        if name in ('kernel', 'to_device', 'to_host', 'inside', 'function'):
            work.append(model.send(n[0], name, *n[1:]))
        elif name == 'record':
            model.events[n[1]] = model.send(n[0], 'mark')
        elif name == 'wait':
            model.send(n[0], 'mark', after=[model.events[n[1]]] if n[1] in model.events else [])
        elif name == 'synchronize':
            model.wait(model.last([n[0], *(BLOCKING if n[0] == 0 else ())]))
        elif name == 'synchronize_event':
            model.wait([model.events[n[0]]] if n[0] in model.events else [])
        elif name == 'synchronize_all':
            model.wait(model.last(range(STREAMS)))
        elif name == 'query':
            answer = model.query(model.last([n[0], *(BLOCKING if n[0] == 0 else ())]))
            assert answer == bool(n[1]), f'{line}: the model says {answer} at {model.now}'
        elif name == 'query_event':
            answer = model.query([model.events[n[0]]] if n[0] in model.events else [])
            assert answer == bool(n[1]), f'{line}: the model says {answer} at {model.now}'
    out = [f'ran {c.start} {c.end}' for c in work]
    return out + [f'now {model.now}']


def start(seed):
    return subprocess.Popen([sys.argv[1], str(seed)], stdout=subprocess.PIPE, text=True)


def check(seed, copies):
    runs = [start(seed) for _ in range(copies)]
    texts = [run.communicate()[0] for run in runs]
    assert not any(run.returncode for run in runs), seed
    assert len(set(texts)) == 1, f'seed {seed}: two runs differ'
    lines = texts[0].splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith('ran '))
    wanted = simulate(lines[:end])
    for i, (got, right) in enumerate(zip(lines[end:], wanted, strict=True)):
        assert got == right, f'seed {seed}, command {i}: {got}, the model: {right}'


def check_setting(name, value, said):
    """What is wrong is said, and the program runs all the same."""
    run = subprocess.run([sys.argv[1]], env={**os.environ, name: value}, capture_output=True, text=True, check=True)
    assert run.stderr == f'tracesmith emu: {said}\n', run.stderr
    return run.stdout


if len(sys.argv) > 2:
    check(int(sys.argv[2]), 1)
else:
    check(1, 20)
    for number in range(2, 40):
        check(number, 2)
    DEFAULT = check_setting('TS_EMU_MACHINE', 'block_slot=2,call_ns=1',
                            'TS_EMU_MACHINE: "block_slot" is no key of a machine: see docs/emu.md; using the default machine')
    assert DEFAULT == check_setting('TS_EMU_MACHINE', 'call_ns=1x', 'TS_EMU_MACHINE: call_ns=1x is not a number from 0 to '
                                    '1000000000; using the default machine')
    PLAIN = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout
    assert PLAIN != DEFAULT
    assert PLAIN == check_setting('TS_EMU_LATE', '3',
                                  'TS_EMU_LATE, TS_EMU_RETURN and TS_EMU_LINGER are ignored: TS_EMU_TIME=virtual')
    assert PLAIN == check_setting('TS_EMU_STREAMS', 'concurrent',
                                  'TS_EMU_STREAMS=concurrent is ignored: TS_EMU_TIME=virtual needs serial streams')
