# SPDX-License-Identifier: Apache-2.0
"""The graph of dependencies of Vulkan programs. usage: vulkan_graph.py FIRST COUNT

Of programs made of a number (vk_order) the graph says just what a simple recomputation finds, and no measured time may
contradict it. Meson gives the places in the environment, TS_TEST_X: CAPTURE, TOOL, BUILD (folder of the programs)."""

import glob
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose import Graph  # noqa: E402

CAPTURE, TOOL = os.environ['TS_TEST_CAPTURE'], os.environ['TS_TEST_TOOL']
BUILD = pathlib.Path(os.environ['TS_TEST_BUILD'])
SKIP = 77


def record(trace, program, *words):
    drivers = sorted(glob.glob('/usr/share/vulkan/icd.d/lvp_icd*.json'))
    if not drivers:
        sys.exit(SKIP)
    environment = {**os.environ, 'VK_ICD_FILENAMES': drivers[0], 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': str(trace), 'TS_GPU_TIME': '1'}
    subprocess.run([BUILD / program, *words], env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60)
    return Graph(TOOL, trace)


def batches_of(args):
    """Waits and signals of each batch: semaphore, value, whether all stages are meant."""
    for item in args['pSubmits']['items']:
        if 'waitSemaphoreInfoCount' in item:
            yield tuple([(info['semaphore'], info['value'], 'ALL_COMMANDS' in info['stageMask'])
                         for info in item[f'p{kind}SemaphoreInfos']] for kind in ('Wait', 'Signal'))
            continue
        values = next((struct['VkTimelineSemaphoreSubmitInfo'] for struct in item['pNext']), {})
        yield ([(semaphore, value, 'ALL_COMMANDS' in stages) for semaphore, value, stages in
                zip(item['pWaitSemaphores'], values['pWaitSemaphoreValues'], item['pWaitDstStageMask'])],
               [(semaphore, value, True) for semaphore, value in zip(item['pSignalSemaphores'], values['pSignalSemaphoreValues'])])


class Naive:
    """Sets of commands that are over, by the rules of Vulkan's queues, semaphores and fences."""

    def __init__(self, graph):
        self.over = {}  # command -> over when it begins; wait -> when it returns
        self.known, self.queue = set(), set()  # one thread, one queue: over when all of it has ended
        self.binary, self.signals, self.raised, self.fences = set(), {}, {}, {}
        self.gated, self.openings = set(), []  # waits for a value that no command brings; who brings it
        for r in graph.records:
            if r['api'] == 'vulkan' and 'failed' not in r['flags']:
                self.note(r)

    def wait_for(self, r, semaphore, value):
        signals = self.signals.setdefault(semaphore, [])
        if semaphore in self.binary:
            found = [over for _, over, _ in signals]
            self.signals[semaphore] = []
            return set().union(*found)
        if value <= self.raised.get(semaphore, 0):
            return set()
        found = [over for comes_to, over, _ in signals if comes_to <= value]
        if not signals:
            self.gated.add((r['seq'], semaphore, value))
        if value not in [comes_to for comes_to, _, _ in signals]:
            found += [over for _, over, _ in sorted((s for s in signals if s[0] > value), key=lambda s: s[0])[:1]]
        return set().union(*found)

    def submit(self, r):
        begin, parts, before = set(self.known), set(), set(self.queue)
        self.over[r['seq']] = begin
        signals, batches = [], list(batches_of(r['args']))
        for number, (waits, signalled) in enumerate(batches):
            for semaphore, value, is_all in waits:
                found = self.wait_for(r, semaphore, value)
                (begin if is_all and number == 0 else parts).update(found)
            for semaphore, value, is_all in signalled:
                over = set()
                link = (value, over, not is_all)
                signals.append((over, is_all, number + 1 == len(batches)))
                if semaphore in self.binary:
                    self.signals[semaphore] = []
                self.signals.setdefault(semaphore, []).append(link)
        self.queue |= begin | parts | {r['seq']}
        for over, is_all, is_last in signals:
            over.update(self.queue if is_all and is_last else before | begin if is_all else begin)
        if r['args']['fence']:
            self.fences[r['args']['fence']] = set(self.queue)

    def learn(self, r, *found):
        self.known = self.known.union(*found)
        self.over[r['seq']] = self.known

    def reached(self, r, semaphore, value):
        self.learn(r, *(over for comes_to, over, is_early in self.signals.get(semaphore, []) if comes_to <= value and not is_early))

    def note(self, r):
        args, call = r['args'], r['call']
        if call == 'vkCreateSemaphore':
            if not args['pCreateInfo']['pNext']:
                self.binary.add(args['pSemaphore'])
        elif call.startswith('vkQueueSubmit'):
            self.submit(r)
        elif call == 'vkSignalSemaphore':
            self.raised[args['pSignalInfo']['semaphore']] = args['pSignalInfo']['value']
            self.openings += [(r['seq'], seq) for seq, *gate in self.gated if gate == list(args['pSignalInfo'].values())[-2:]]
            self.over[r['seq']] = self.known
        elif call in ('vkQueueWaitIdle', 'vkDeviceWaitIdle'):
            self.learn(r, self.queue)
        elif call == 'vkWaitForFences':
            self.learn(r, *(self.fences.get(fence, set()) for fence in args['pFences']['items']))
        elif call == 'vkGetFenceStatus' and r['result'] == 'VK_SUCCESS':
            self.learn(r, self.fences.get(args['fence'], set()))
        elif call == 'vkResetFences':
            for fence in args['pFences']['items']:
                self.fences.pop(fence, None)
        elif call == 'vkWaitSemaphores':
            info = args['pWaitInfo']
            for semaphore, value in zip(info['pSemaphores'], info['pValues']):
                self.reached(r, semaphore, value)
        elif call == 'vkGetSemaphoreCounterValue':
            self.reached(r, args['semaphore'], args['pValue'])


def check(folder, number):
    graph = record(folder / f'{number}.sbt', 'vk_order', str(number))
    simple = Naive(graph)
    over, naive = graph.over(lambda edge: not edge['redundant'] and edge['reason'] != 'barrier'), simple.over
    assert set(graph.openings()) == set(simple.openings), (graph.openings(), simple.openings)
    assert bool(simple.openings) == bool(number % 2), number
    assert over == graph.over(lambda edge: edge['reason'] != 'barrier'), f'{number}: an edge is redundant and says more than others'
    # Behind each dispatch is a barrier for dispatches.
    all_over, sent = graph.over(), [seq for seq in sorted(graph.commands)]
    assert all_over == graph.over(lambda edge: True), number
    assert all(set(sent[:place]) <= all_over[seq] for place, seq in enumerate(sent)), number
    for seq in graph.nodes:
        assert over[seq] == naive.get(seq, set()), \
            f'{number}: record {seq}: only here {sorted(over[seq] - naive.get(seq, set()))}, only there {sorted(naive.get(seq, set()) - over[seq])}'
    return sum(edge['reason'] == 'signal' for edge in graph.edges), graph.check_times()


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        found = [check(pathlib.Path(folder), number) for number in range(first, first + count)]
    print(found)
    assert sum(signals for signals, _ in found) > 20 * count and sum(times for _, times in found) > 20 * count


main()
