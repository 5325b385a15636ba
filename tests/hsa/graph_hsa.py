# SPDX-License-Identifier: Apache-2.0
"""The graph of dependencies of HSA programs. usage: graph_hsa.py FIRST COUNT

Programs made of a number (hsa_random) order all that use the same bytes: the graph must know all of that order, and just what
a simple recomputation finds; and no measured time may contradict it. Meson sets TEST_BIN, TEST_CAPTURE, TEST_EMU, TEST_PROGRAMS."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose import Graph  # noqa: E402

BIN, CAPTURE, EMU, PROGRAMS = (os.environ[f'TEST_{name}'] for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
ALTER = pathlib.Path(PROGRAMS).parent / 'programs' / 'alter_trace'
TOOL = pathlib.Path(BIN) / 'tracesmith'
COPIES = ('hsa_amd_memory_async_copy', 'hsa_memory_copy', 'hsa_amd_memory_fill')
SIZE = 8192  # of a buffer


def record(trace, program, *words):
    environment = {**os.environ, 'LD_LIBRARY_PATH': EMU, 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': str(trace), 'TS_GPU_TIME': '1'}
    subprocess.run([pathlib.Path(PROGRAMS) / program, pathlib.Path(PROGRAMS) / 'hsa_kernels.hsaco', *words],
                   env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60)
    return Graph(TOOL, trace)


def listed(text):
    """The signals of a list of ids."""
    ids = bytes.fromhex(text)
    return [f'signal#{int.from_bytes(ids[at:at + 8], "little")}' for at in range(0, len(ids), 8)]


def has_barrier(args):
    """The header's bit, by its name or, in altered traces, which have no names, its number."""
    header = args.get('header', '')
    return 'BARRIER' in header or header.startswith('0x') and int(header, 16) & 0x100


class Naive:
    """Sets of commands that are over, by the rules of HSA's queues and signals."""

    def __init__(self, graph):
        self.over, self.ended = {}, {}  # command -> over when it begins; when it has ended
        self.known, self.queues, self.signals = {}, {}, {}
        for r in graph.records:
            if r['api'] == 'hsa' and 'failed' not in r['flags']:
                self.note(r, r['seq'] in graph.commands)

    def wait_for(self, signal, value):
        """What is over when a signal holds a value: all that lower it, where it is the last one that it comes to."""
        s = self.signals.get(signal)
        return set().union(*s['links']) if s and s['rest'] == value else set()

    def command(self, r):
        args, over = r['args'], set(self.known.get(r['thread'], ()))
        queue = self.queues.setdefault(r['stream'], [set(), set()])  # over when all have ended, their begins
        is_copy = not r['call'].startswith('aql_')
        in_turn = is_copy and 'dep_signals' in args or has_barrier(args)
        if in_turn:
            over |= queue[0]
        deps = [args[f'dep{i}'] for i in range(5) if args.get(f'dep{i}')] + listed(args.get('dep_signals', ''))
        if r['call'] != 'aql_barrier_or' or len(deps) == 1:
            over = over.union(*(self.wait_for(signal, 0) for signal in deps))
        if r['call'] == 'aql_barrier_value' and args['condition'] in ('HSA_SIGNAL_CONDITION_LT', 2):
            over |= self.wait_for(args['signal'], args['value'] - 1)
        self.over[r['seq']] = over
        queue[0] = queue[0] | over | {r['seq']}
        ended = queue[0] if in_turn else over | {r['seq']}
        signal = args.get('completion') or args.get('completion_signal')
        if signal:
            self.signals[signal]['links'].append(ended)
            self.signals[signal]['rest'] -= 1
        if r['call'] in ('hsa_memory_copy', 'hsa_amd_memory_fill'):
            self.known[r['thread']] = self.known.get(r['thread'], set()) | queue[0]

    def learn(self, r, signal, value):
        found = self.wait_for(signal, value)
        self.known[r['thread']] = self.known.get(r['thread'], set()) | found
        if found or r['kind'] == 'sync' or r['kind'] == 'state':
            self.over[r['seq']] = self.known[r['thread']]

    def note(self, r, is_command):
        args, call = r['args'], r['call']
        if is_command:
            self.command(r)
        elif call == 'hsa_signal_create':
            self.signals[args['signal']] = {'links': [], 'rest': args['initial_value']}
        elif call.startswith(('hsa_signal_exchange', 'hsa_signal_cas')):
            self.learn(r, args['signal'], r['result'])
            self.signals[args['signal']] = {'links': [], 'rest': args['value']}
        elif call.startswith(('hsa_signal_store', 'hsa_signal_silent_store')):
            self.signals[args['signal']]['rest'] = args['value']
            self.over[r['seq']] = self.known.get(r['thread'], set())
        elif call.startswith('hsa_signal_subtract'):
            self.signals[args['signal']]['rest'] -= args['value']
            self.over[r['seq']] = self.known.get(r['thread'], set())
        elif 'value' in args and args.get('signal') and (r['kind'] == 'sync' or '_load_' in call):
            self.learn(r, args['signal'], args['value'])


def uses(r):
    """The buffers that a command uses, by their addresses."""
    args = r['args']
    if r['call'] in COPIES:
        return [int(args[name], 16) for name in ('dst', 'src', 'ptr') if name in args]
    if r['call'] == 'aql_kernel_dispatch':
        bytes_ = bytes.fromhex(args['arguments'])
        return [int.from_bytes(bytes_[at:at + 8], 'little') for at in (0, 8)]
    return []


def check_order(graph, over):
    """All that use one buffer stand in an order, but for kernels that use parts of it."""
    users, count = {}, 0
    told = [(r['seq'], r['thread']) for r in graph.records if r['call'].startswith(('hsa_signal_handler', 'hsa_signal_load_'))]
    for seq, r in graph.commands.items():
        for address in set(uses(r)):
            users.setdefault(address, []).append(seq)
    for address, list_ in users.items():
        list_.sort()
        for before, after in zip(list_, list_[1:]):
            thread = graph.commands[after]['thread']
            if graph.commands[before]['thread'] != thread or any(before < seq < after and other != thread for seq, other in told):
                continue  # threads tell each other; a load that tells nothing new is not recorded
            assert before in over[after], f'{address:#x}: nothing puts {before} before {after}'
            count += 1
    return count


def check_naive(graph, number):
    over, naive = graph.over(), Naive(graph).over
    assert over == graph.over(lambda edge: True), f'{number}: an edge is redundant and says more than others'
    for seq in graph.nodes:
        assert over[seq] == naive.get(seq, set()), \
            f'{number}: record {seq}: only here {sorted(over[seq] - naive.get(seq, set()))}, only there {sorted(naive.get(seq, set()) - over[seq])}'
    return over


def loosen(graph, trace, number):
    """The trace with some packets that no longer wait for those before them on their queue."""
    packets = [seq for seq, r in graph.commands.items() if has_barrier(r['args'])]
    for seq in random.Random(number).sample(packets, len(packets) // 2):
        slot = list(graph.commands[seq]['args']).index('header')
        bits = {'aql_kernel_dispatch': 2, 'aql_barrier_and': 3, 'aql_barrier_or': 5, 'aql_barrier_value': 0}
        value = 0x1400 + bits[graph.commands[seq]['call']]
        subprocess.run([ALTER, trace, f'{trace}.new', 'slot', str(seq), f'{slot}:{value}'], check=True)
        os.replace(f'{trace}.new', trace)
    return Graph(TOOL, trace)


def check_random(folder, number):
    trace = folder / f'{number}.sbt'
    graph = record(trace, 'hsa_random', str(number))
    over = check_naive(graph, number)
    if number % 2:
        check_naive(loosen(graph, trace, number), number)
    return check_order(graph, over), graph.check_times(['aql_barrier'])


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sums = [check_random(folder, number) for number in range(first, first + count)]
        assert sum(orders for orders, _ in sums) > 15 * count, sums
        assert sum(times for _, times in sums) > 10 * count, sums
        for program in ('hsa_dispatch', 'hsa_pipeline', 'hsa_queues', 'hsa_threads', 'hsa_gated', 'hsa_rounds'):
            graph = record(folder / 't.sbt', program)
            assert graph.over() == graph.over(lambda edge: True), program
            assert graph.openings() or program != 'hsa_gated', 'nothing opens the gate'
            print(program, len(graph.commands), len(graph.edges), graph.check_times(['aql_barrier']))
    print(sums)


main()
