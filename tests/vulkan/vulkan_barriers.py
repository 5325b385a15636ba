# SPDX-License-Identifier: Apache-2.0
"""Edges of barriers between submits of one queue. usage: vulkan_barriers.py COUNT

A computation of its own goes through all work and barriers (vk_barriers says how they are written) one by one, for each pair of submits,
and finds which of these wait for each other. The graph says just that: of cases that were chosen, and of COUNT that are drawn. Meson gives
the places in the environment, TS_TEST_X: CAPTURE, TOOL, ALTER, BUILD (folder of the programs), ALL (more cases)."""

import glob
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
from loose import Graph  # noqa: E402
from loose_critical import Critical  # noqa: E402
from loose_states import check_cover, states  # noqa: E402

CAPTURE, TOOL = os.environ['TS_TEST_CAPTURE'], os.environ['TS_TEST_TOOL']
BUILD = pathlib.Path(os.environ['TS_TEST_BUILD'])
SKIP = 77

# Pipelines, each with its stages in order. Work goes through one of them.
DRAWING = ['indirect', 'input', 'vertex', 'tessellation', 'geometry', 'early', 'fragment', 'late', 'color']
PIPELINES = [DRAWING, ['indirect', 'compute'], ['copy'], ['clear'], ['blit'], ['rays'], ['build'], ['other']]
ALL = {stage for pipeline in PIPELINES for stage in pipeline}
WORK = {'D': {'compute'}, 'C': {'copy'}, 'F': {'clear'}, 'U': {'copy', 'clear'}, 'R': {'early', 'late', 'color'}}
WORK |= {'P': WORK['R'], 'S': WORK['R']}  # barriers in a pass order nothing outside
FLAGS = {'c': {'compute'}, 't': {'copy', 'clear', 'blit'}, 'x': {'compute', 'copy', 'clear', 'blit'}, 'h': set(), 'g': set(DRAWING),
         'v': {'vertex'}, 'f': {'fragment'}, 'o': {'color'}, 'n': set(), 'y': {'copy'}, 'l': {'clear'}}


def before(letter):
    """Stages that a barrier waits for: those of the flag, and what is before them in a pipeline."""
    if letter in 'ae':
        return ALL
    if letter == 'p':
        return set()
    return {stage for pipeline in PIPELINES for place, stage in enumerate(pipeline) if set(pipeline[place:]) & FLAGS[letter]}


def behind(letter):
    if letter in 'ap':
        return ALL
    if letter == 'e':
        return set()
    flags = FLAGS[letter]  # all drawing is not all that may read indirect commands
    return flags | {stage for pipeline in PIPELINES for place, stage in enumerate(pipeline) if set(pipeline[1:place + 1]) & flags}


def items_of(word):
    """What a submit does: ('work', stages) and ('barrier', [(stages, stages)...])."""
    items, place = [], 0
    while place < len(word):
        letter = word[place]
        place += 1
        if letter in WORK:
            items.append(('work', WORK[letter]))
        elif letter == 'b':
            items.append(('barrier', [(before(word[place]), behind(word[place + 1]))]))
            place += 2
        elif letter == 'B':
            count = int(word[place])
            pairs = [word[place + 1 + 2 * i:place + 3 + 2 * i] for i in range(count)]
            items.append(('barrier', [(before(a), behind(b)) for a, b in pairs]))
            place += 1 + 2 * count
    return items


class Truth:
    """For each pair of submits with work, earlier and later: does all, or some, work of one wait for all, or some, of the other?"""

    def __init__(self, words):
        self.submits = []
        for word in words:
            if word != 'W':
                self.submits.append(self.submits[-1] if word == '=' else items_of(word))
        self.working = [number for number, items in enumerate(self.submits) if any(kind == 'work' for kind, _ in items)]
        self.whole, self.part, self.begun, self.some = set(), set(), set(), set()
        for first in self.working:
            self.follow(first)

    def follow(self, first):
        """Follows each piece of work of a submit, on each of its stages, through all that comes behind it."""
        waits = {}  # (submit, place, stage) of later work -> those of `first` that it waits for, or not
        count = 0
        for place, (kind, what) in enumerate(self.submits[first]):
            for stage in what if kind == 'work' else ():
                count += 1
                held = set()
                for submit in range(first, len(self.submits)):
                    for at, (item, more) in enumerate(self.submits[submit]):
                        if submit == first and at <= place:
                            continue
                        if item == 'barrier':
                            held = held | {b for a, on in more if a & (held | {stage}) for b in on}
                        elif submit != first:
                            for by in more:
                                waits.setdefault((submit, at, by), []).append(by in held)
        for later in self.working:
            own = [found for (submit, _, _), found in waits.items() if submit == later]
            if not own:
                continue
            assert all(len(found) == count for found in own)
            pair = (first, later)
            for name, holds in (('whole', all(map(all, own))), ('part', any(map(all, own))), ('begun', all(map(any, own))), ('some', any(map(any, own)))):
                if holds:
                    getattr(self, name).add(pair)


def record(trace, words, **settings):
    drivers = sorted(glob.glob('/usr/share/vulkan/icd.d/lvp_icd*.json'))
    if not drivers:
        sys.exit(SKIP)
    environment = {**os.environ, 'VK_ICD_FILENAMES': drivers[0], 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': str(trace), 'TS_GPU_TIME': '1', **settings}
    subprocess.run([BUILD / 'vk_barriers', *words], env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60)
    return Graph(TOOL, trace)


def check_edges(graph, truth, number_of):
    """Each edge says what holds."""
    for edge in graph.edges:
        if edge['reason'] != 'barrier':
            continue
        pair = number_of[edge['from']], number_of[edge['to']]
        held = {(False, False): truth.whole, (False, True): truth.part, (True, False): truth.begun, (True, True): truth.some}
        assert pair in held[edge['begin'], edge['part']], (edge, pair)
        assert edge['alone'] or not edge['begin'], edge
        if not edge['alone']:
            more = {(first, pair[1]) for first in truth.working if first < pair[0]}
            assert more <= held[False, edge['part']], (edge, pair, more - held[False, edge['part']])


def check_all(graph, truth, number_of):
    """All that holds follows from the edges."""
    barriers = [edge for edge in graph.edges if edge['reason'] == 'barrier']
    begins = graph.over(lambda edge: edge['reason'] == 'barrier')
    over = {(number_of[first], number_of[later]) for later in number_of for first in begins[later] if number_of[first] in truth.working}
    assert over == truth.whole, (over - truth.whole, truth.whole - over)
    ends = {}
    for seq in sorted(number_of):
        found = set(begins[seq])
        for edge in barriers:
            if edge['to'] == seq and edge['part'] and not edge['begin']:
                found |= {edge['from']} | ends[edge['from']]
                if not edge['alone']:
                    found |= {before for before in number_of if before < edge['from']}
        ends[seq] = found
    over = {(number_of[first], number_of[later]) for later in number_of for first in ends[later] if number_of[first] in truth.working}
    assert over == truth.part | truth.whole, (over - truth.part, truth.part - over)
    for name, is_enough in (('begun', lambda edge: not edge['part']), ('some', lambda edge: True)):
        for first, later in getattr(truth, name):
            assert any(number_of[edge['to']] == later and number_of[edge['from']] >= first and is_enough(edge) for edge in barriers), (name, first, later)


def check(folder, words, is_all=True):
    graph, truth = record(folder / 'a.sbt', words), Truth(words)
    sent = sorted(graph.commands, key=lambda seq: graph.commands[seq]['position'])
    assert len(sent) == len(truth.submits)
    number_of = {seq: number for number, seq in enumerate(sent)}
    try:
        check_edges(graph, truth, number_of)
        if is_all:
            check_all(graph, truth, number_of)
        assert graph.over() == graph.over(lambda edge: True), 'an edge is redundant and says more than others'
    except AssertionError:
        print(' '.join(f"'{word}'" for word in words))
        raise
    answer = states(TOOL, str(folder / 'a.sbt'))
    check_cover(answer)
    assert not answer['findings'], answer['findings']
    graph.check_times()
    return graph, [(number_of[edge['from']], number_of[edge['to']], edge) for edge in graph.edges if edge['reason'] == 'barrier']


def edges(folder, *words):
    """Edges of barriers as short texts: 'FROM>TO', '!': alone, '~': begin, '?': part, '-': redundant."""
    _, found = check(folder, words)
    return ' '.join(f'{first}>{later}' + '!' * edge['alone'] + '~' * edge['begin'] + '?' * edge['part'] + '-' * edge['redundant']
                    for first, later, edge in found)


CHOSEN = [
    ('', ['D', 'D']),  # without a barrier there is no order
    ('0>1', ['D', 'baaD']),
    ('0>1', ['D', 'bccD']),
    ('0>1', ['Dbcc', 'D']),  # a barrier at the end orders what comes later
    ('', ['D', 'bttD']),  # it waits for copies
    ('', ['C', 'bctC']),
    ('', ['D', 'bctD']),
    ('', ['D', 'bpaD']),
    ('', ['D', 'baeD']),
    ('0>1', ['D', 'beaD']),
    ('0>1', ['D', 'bapD']),
    ('0>1?', ['D', 'DbccD']),  # some work is before it
    ('0>1?', ['D', 'bcxDF;R']),  # some work is on other stages
    ('0>1!~', ['DC', 'bttC']),  # it waits for some of the work
    ('0>1!~?', ['DC', 'CbttC']),
    ('0>2', ['D', 'baa', 'D']),  # a submit without work
    ('0>2 0>3', ['D', 'baa', 'D', 'D']),
    ('0>2', ['D', 'bct', 'btgR']),  # a chain
    ('', ['D', 'bct', 'bvgR']),
    ('0>2', ['D', 'bctbtg', 'R']),
    ('', ['D', 'B2cttg', 'R']),  # those of one call are no chain
    ('0>1', ['D', '(baa)D']),  # secondary command buffers
    ('0>1?', ['D', '(DbccD)']),
    ('0>1 1>2', ['D', '(bcc)D(bcc)', '(D)']),
    ('0>1 1>2 2>3', ['Dbcc', '=', '=', '=']),  # one buffer again and again
    ('1>2', ['D', 'D', 'bccD']),  # the last one stands for all before it
    ('0>2 1>2!~', ['D', 'DF', 'bccD']),
    ('0>1 1>2-', ['D', 'bccD', 'W', 'bccD']),  # the program has waited
    ('0>1', ['F', 'B1llF']),  # stages of the newer call
    ('', ['F', 'B1yyC']),
    ('0>1', ['U', 'bttU']),
    ('', ['U', 'B1naD']),
    ('0>1!~', ['U', 'B1yaD']),
    ('0>1', ['R', 'bocD']),  # passes
    ('0>1', ['D', 'bcgR']),
    ('0>1?', ['D', 'bcoR']),
    ('0>1!~', ['R', 'bfcD']),
    ('', ['R', 'P', 'S', 'R']),
    ('0>1? 1>2?', ['P', 'booS', 'booP']),
    ('0>1 1>2', ['C,C', 'bttC', 'bttC;C']),  # batches
]


def draw(r, depth=0):
    """Contents of a command buffer."""
    out = ''
    for _ in range(r.randrange(5 if depth else 4)):
        kind = r.randrange(8)
        if kind < 3:
            out += r.choice('DDCCFURPS')
        elif kind < 6:
            out += 'b' + r.choice('aacctxpehgvfo') + r.choice('aacctxpehgvfo')
        elif kind == 6:
            count = r.randrange(1, 4)
            out += f'B{count}' + ''.join(r.choice('acctxgonylf') for _ in range(2 * count))
        elif not depth:
            out += f'({draw(r, 1)})'
    return out


def draw_program(number):
    r = random.Random(number)
    words = []
    for _ in range(r.randrange(4, 24)):
        if words and words[-1] != 'W' and r.randrange(8) == 0:
            words.append('=')
        elif r.randrange(16) == 0 and words and words[-1] != 'W':
            words.append('W')
        else:
            words.append(''.join(r.choice(';,') * (i > 0) + draw(r) for i in range(r.randrange(1, 3))) or 'D')
    return words


def check_many(folder):
    """More submits without order than are followed: edges say less then, nothing that is wrong, and how many do is said."""
    r = random.Random(1)
    words = [''.join(r.sample('DCFR', r.randrange(1, 4))) + 'b' + r.choice('ctovfh') + r.choice('ctovfh') for _ in range(200)] + ['bxxD', 'baaC', 'C']
    graph, found = check(folder, words, is_all=False)
    assert graph.graph['shortened_count'] > 0 and any(edge['alone'] for _, _, edge in found), graph.graph['shortened_count']
    assert (199, 201) not in [pair[:2] for pair in found] and [pair[:2] for pair in found if pair[1] > 200] == [(200, 201), (200, 202)], found[-4:]


def check_early(folder):
    """A submit has the time stamp of its begin before its barriers, so that one which began before another had ended is no finding."""
    graph = record(folder / 'a.sbt', ['D', 'bccD', 'baaD'])
    first, later = [r['args'] for r in graph.records if r['call'] == 'gpu_time' and not r['args']['command']][:2]
    seq = next(r['seq'] for r in graph.records if r['args'] is first)
    late = later['start_ns'] + later['duration_ns'] // 2 - first['start_ns']
    subprocess.run([os.environ['TS_TEST_ALTER'], folder / 'a.sbt', folder / 'b.sbt', 'slot', str(seq), f'4:{late}'], check=True)
    answer = states(TOOL, str(folder / 'b.sbt'))
    check_cover(answer)
    assert late > first['duration_ns'] and not answer['findings'], answer['findings']


def check_hang(folder):
    """Of submits that have not finished those say so that wait as a whole; what they wait for may run."""
    graph = record(folder / 'a.sbt', ['D', 'bccD', 'D', 'FbccD', 'C', 'X'], TS_GPU_TIME='0')
    done = subprocess.run([TOOL, 'graph', '--hang', '--json', folder / 'a.sbt'], capture_output=True, text=True, check=True)
    found, sent = json.loads(done.stdout), sorted(graph.commands)
    rows = {sent.index(row['seq']): (row['reason'], row['before'] and sent.index(row['before'])) for row in found['commands']}
    assert rows == {0: ('unknown', None), 1: ('stream', 0), 2: ('stream', 0), 3: ('unknown', None), 4: ('unknown', None)}, rows
    assert not found['cycles'] and [sent.index(row['seq']) for row in found['open_ends']] == [0, 3, 4], found


def main():
    count = 400 if os.environ.get('TS_TEST_ALL') else int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for expected, words in CHOSEN:
            found = edges(folder, *words)
            print(words, found)
            assert sorted(found.split()) == sorted(expected.split()), (words, found, expected)
        check_many(folder)
        check_early(folder)
        check_hang(folder)
        flags = {name: 0 for name in ('alone', 'begin', 'part', 'redundant')}
        total = 0
        for number in range(count):
            _, found = check(folder, draw_program(number))
            if number < 8 or os.environ.get('TS_TEST_ALL'):
                Critical(TOOL, str(folder / 'a.sbt'), ('vk',)).check()
            total += len(found)
            for name in flags:
                flags[name] += sum(edge[name] for _, _, edge in found)
        print(total, flags)
        assert total > 5 * count and all(flags.values()), (total, flags)


main()
