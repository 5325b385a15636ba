# SPDX-License-Identifier: Apache-2.0
"""What the tests of graphs of commands that may overlap on their stream share: the graph that `tracesmith graph --json`
prints, what is over by it, and whether measured times contradict it."""

import json
import subprocess


class Graph:
    def __init__(self, tool, trace):
        def read(*words):
            return subprocess.run([tool, *words, trace], capture_output=True, text=True, check=True).stdout

        self.tool, self.trace = tool, trace
        self.graph = json.loads(read('graph', '--json'))
        self.records = [json.loads(line) for line in read('view', '--json').splitlines()][1:]
        self.nodes = {node['seq']: node for node in self.graph['nodes']}
        self.edges = self.graph['edges']
        self.commands = {r['seq']: r for r in self.records if r['kind'] in ('command', 'signal', 'wait')
                         and r['stream'] is not None and r['position'] and not {'failed', 'captured'} & set(r['flags'])}
        assert self.graph['passed_count'] == 0
        assert {seq for seq, node in self.nodes.items() if node['command']} == set(self.commands)
        self.on_stream = {}
        for seq, r in self.commands.items():
            self.on_stream.setdefault(r['stream'], []).append((r['position'], seq))
        for edge in self.edges:
            assert edge['from'] in self.nodes and edge['to'] in self.nodes, edge

    def until(self, stream, position):
        """The commands of a stream up to a position."""
        return {seq for place, seq in self.on_stream.get(stream, ()) if place <= position}

    def over(self, is_used=lambda edge: not edge['redundant']):
        """node -> commands that are over when it begins, or, of a wait, returns; by the edges that are used."""
        into, begins, ends = {}, {}, {}
        for edge in filter(is_used, self.edges):
            if edge['from'] < edge['to']:  # else the host opens what waits
                into.setdefault(edge['to'], []).append(edge)
        for seq in sorted(self.nodes):
            begins[seq], parts = set(), set()
            for edge in into.get(seq, ()):
                (parts if edge['part'] else begins[seq]).update(self.over_with(edge, begins, ends))
            ends[seq] = begins[seq] | parts | ({seq} if self.nodes[seq]['command'] else set())
        return begins

    def over_with(self, edge, begins, ends):
        """What is over with that which an edge comes from."""
        start = self.nodes[edge['from']]
        found = set(begins[edge['from']] if edge['begin'] and start['command'] else ends[edge['from']])
        if start['command'] and not edge['alone']:
            for before in self.until(start['stream'], self.commands[edge['from']]['position'] - 1):
                found |= ends[before]
        return found

    def openings(self):
        """Edges from calls of the host that bring an object to a value that an earlier command waits for."""
        return [(edge['from'], edge['to']) for edge in self.edges if edge['from'] > edge['to']]

    def check_times(self, waits=()):
        """No command ran before what it had to wait for had ended, by the times that were measured. `waits`: begins of the
        names of calls that do nothing but wait: their time is that of the wait."""
        times = {}
        for r in self.records:
            a = r['args']
            if r['call'] == 'gpu_time' and not a['command'] and not a['run']:
                span = (a['start_ns'], a['start_ns'] + a['duration_ns'], a['error_ns'])
                times.setdefault((a['of_stream'], a['of_position']), []).append(span)
        count = 0
        for edge in self.edges:
            ends = [self.commands.get(edge[name]) for name in ('from', 'to')]
            spans = [times.get((r['stream'], r['position'])) if r else None for r in ends]
            if None in spans or edge['from'] > edge['to'] and edge['begin']:
                continue
            (before, after), error = spans, max(error for span in spans for _, _, error in span)
            first = min(start for start, _, _ in before) if edge['begin'] else max(end for _, end, _ in before)
            # A barrier may lie behind the time stamp with which a command begins.
            is_end = edge['part'] or edge['reason'] == 'barrier' or ends[1]['call'].startswith(tuple(waits))
            second = max(end for _, end, _ in after) if is_end else min(start for start, _, _ in after)
            assert first <= second + 2 * error, (edge, ends, spans)
            count += 1
        return count
