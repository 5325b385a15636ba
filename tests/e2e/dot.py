#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tracesmith graph --dot` of a program with some 200 commands: a column for each stream and thread, the edges that are needed and no
others, short names, a legend of what occurs. Where Graphviz is installed it draws that without a warning, columns do not overlap, and no
edge leads up."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BIN, CAPTURE, PROGRAMS = (pathlib.Path(os.environ[f'TEST_{name}']) for name in ('BIN', 'CAPTURE', 'PROGRAMS'))
LEGEND = {'stream': 'order of the stream', 'default stream': 'default stream', 'event': 'event', 'host': 'the host waits',
          'thread': 'sent after a wait', 'unknown': 'unknown'}
MEMORY = ('read after write', 'write after write', 'write after read')


def tool(*words):
    done = subprocess.run([BIN / 'tracesmith', 'graph', *words, 'a.sbt'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return done.stdout


def record(*words):
    environment = {**os.environ, 'LD_PRELOAD': str(CAPTURE), 'TS_OUTPUT': 'a.sbt', 'TS_TEST_PTX': str(PROGRAMS / 'kernels.ptx')}
    subprocess.run([PROGRAMS / words[0], *words[1:]], env=environment, stdout=subprocess.DEVNULL, check=True)


class Picture:
    def __init__(self, text):
        self.columns, self.labels, self.edges, self.hidden = {}, {}, [], set()
        column = None
        for line in text.splitlines():
            if match := re.match(r'  subgraph cluster_(\w+) \{', line):
                assert match[1] not in self.columns
                column = self.columns[match[1]] = []
            elif line == '  }':
                column = None
            elif match := re.match(r'    n(\d+) \[label="((?:[^"\\]|\\.)*)"', line):
                column.append(int(match[1]))
                self.labels[int(match[1])] = match[2]
            elif match := re.match(r' *n(\d+) -> n(\d+) \[(.*)\]$', line):
                pair = int(match[1]), int(match[2])
                if 'style=invis' in match[3]:
                    self.hidden.add(pair)
                else:
                    self.edges.append((*pair, re.search(r'tooltip="([a-z ]+)', match[3])[1].strip()))
        self.legend = set(re.findall(r'<td align="left">([^<]*)</td>', text))
        assert text.count('id="legend"') == 1


def check_structure(picture, graph, wanted):
    nodes = {node['seq']: node for node in graph['nodes']}
    columns = {}
    for seq, node in nodes.items():
        name = f'stream{node["stream"]}' if node['command'] else f'thread{node["thread"]}'
        columns.setdefault(name, []).append(seq)
    assert picture.columns == {name: sorted(list_) for name, list_ in columns.items()}, (picture.columns, columns)
    edges = sorted((edge['from'], edge['to'], edge['reason']) for edge in graph['edges'] if wanted(edge))
    assert sorted(picture.edges) == edges, set(picture.edges) ^ set(edges)
    linked = {(begin, end) for begin, end, reason in picture.edges if reason not in MEMORY} | picture.hidden
    for list_ in picture.columns.values():
        assert all(pair in linked for pair in zip(list_, list_[1:])), 'a column is not kept in order'
    for seq, label in picture.labels.items():
        assert re.match(rf'{seq} \S', label) and len(label) <= len(str(seq)) + 21, label


def check_legend(picture, greys):
    drawn = {reason for begin, end, reason in picture.edges} - set(MEMORY)
    shown = {reason for reason, text in LEGEND.items() if text in picture.legend}
    assert shown <= drawn and (greys or shown == drawn), (shown, drawn)
    assert ('redundant, of each kind' in picture.legend) == greys, picture.legend
    assert 'kernel, graph, submit' in picture.legend and 'copy, fill' in picture.legend


def check_drawn(text, picture):
    """Graphviz's own places: columns are apart, time goes down."""
    if not shutil.which('dot'):
        print('no Graphviz here: only the text was looked at')
        return
    done = subprocess.run(['dot', '-Tplain'], input=text, capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    at = {int(row[1][1:]): tuple(map(float, row[2:5])) for row in rows if row[0] == 'node' and row[1][0] == 'n'}
    assert set(at) == set(picture.labels)
    for begin, end, reason in picture.edges:
        assert at[begin][1] > at[end][1] or reason in MEMORY, (begin, end, reason)
    spans = sorted((min(at[seq][0] - at[seq][2] / 2 for seq in list_), max(at[seq][0] + at[seq][2] / 2 for seq in list_))
                   for list_ in picture.columns.values())
    assert all(left[1] < right[0] for left, right in zip(spans, spans[1:])), spans
    width, height = map(float, rows[0][2:4])
    assert width < 20 and height < 0.7 * len(at), (width, height, len(at))  # inches
    subprocess.run(['dot', '-Tsvg', '-o', 'a.svg'], input=text, text=True, check=True)


def check(least, *words):
    """The graph as it is by default, and with all edges."""
    graph = json.loads(tool('--json'))
    assert len(graph['nodes']) >= least, len(graph['nodes'])
    text = tool('--dot', *words)
    picture = Picture(text)
    check_structure(picture, graph, lambda edge: not edge['redundant'])
    check_legend(picture, False)
    check_drawn(text, picture)
    picture = Picture(tool('--dot', '--redundant', *words))
    check_structure(picture, graph, lambda edge: True)
    check_legend(picture, any(edge['redundant'] for edge in graph['edges']))


def check_memory():
    graph = json.loads(tool('--json', '--memory'))
    picture = Picture(tool('--dot', '--memory'))
    check_structure(picture, graph, lambda edge: not edge['redundant'] or edge['reason'] in MEMORY)
    assert any(reason in MEMORY for _, _, reason in picture.edges) and set(MEMORY) & picture.legend
    check_structure(Picture(tool('--dot', '--memory', '--needed')), graph, lambda edge: not edge['redundant'])


def main():
    record('pipeline', '24')
    check(200)
    record('pipeline', '3')
    check_memory()
    record('streams')  # a hundred of them
    picture = Picture(tool('--dot'))
    assert len(picture.columns) > 100 and 'rank=same' not in tool('--dot')
    for seed in ('1', '3'):
        record('scheduled', seed)
        check(40)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(0)
