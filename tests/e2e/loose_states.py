# SPDX-License-Identifier: Apache-2.0
"""What the tests of `tsview --states` share, of commands that may overlap on their stream: states cover the time, what runs does so
when the recording says, and waits are those that a simple recomputation of the graph finds."""

import json
import os
import subprocess

from loose import Graph

ENDLESS = ('not finished', 'failed', 'may have failed')
RANKS = {'wait': 0, 'sent': 1, 'pending': 1, 'running': 2}


def states(tool, trace):
    done = subprocess.run([tool, 'view', '--states', '--json', trace], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def by_subject(rows):
    found = {}
    for row in rows:
        found.setdefault(row['of'], []).append(row)
    return found


def ends(answer):
    """(name, state, reason, record that it waits for) of each command that has not finished, in order."""
    rows = [row for row in answer['commands'] if row['state'] in ENDLESS]
    assert all(row['end_ns'] == answer['end_ns'] for row in rows), rows
    assert len(by_subject(rows)) == len(rows), 'a command that has not finished has another state, too'
    return [(row['name'], row['state'], row['reason'], row['by']) for row in rows]


def check_cover(answer):
    """The intervals of each stream and device are next to each other, from the first call to the end, and each has a reason."""
    for kind in ('streams', 'devices'):
        assert answer[kind], kind
        for what, rows in by_subject(answer[kind]).items():
            at = answer['begin_ns']
            for row in rows:
                assert row['begin_ns'] == at and row['end_ns'] - at == row['duration_ns'] > 0, (what, at, row)
                assert row['reason'] or row['state'] in ('running', 'failed', 'may have failed'), (what, row)
                assert (row['seq'] is None) == (row['state'] == 'idle'), (what, row)
                at = row['end_ns']
            assert at == answer['end_ns'], (what, at)


class States:
    def __init__(self, tool, trace, waits=()):
        """`waits`: begins of the names of calls that do nothing but wait."""
        self.graph, self.answer, self.waits = Graph(tool, trace), states(tool, trace), tuple(waits)
        self.calls = {r['seq']: r for r in self.graph.records}
        self.rows = {rows[0]['seq']: rows for rows in by_subject(self.answer['commands']).values()}
        self.times = {}
        places = {(r['stream'], r['position']): seq for seq, r in self.graph.commands.items()}
        for r in self.graph.records:
            a = r['args']
            if r['call'] == 'gpu_time' and not a['command'] and not a['run'] and 'calibrated' in a['flags']:
                seq = places[a['of_stream'], a['of_position']]
                start, end = self.times.get(seq, (2 ** 64, 0))
                self.times[seq] = min(start, a['start_ns']), max(end, a['start_ns'] + a['duration_ns'])

    def check(self):
        assert set(self.rows) <= set(self.graph.commands)
        assert set(self.times) <= set(self.rows), 'a command with a time has no state'
        check_cover(self.answer)
        self.check_order()
        self.check_times()
        self.check_busy('streams', lambda seq: f'stream {self.graph.commands[seq]["stream"]}')
        count = self.check_waits()
        assert not self.answer['findings'], self.answer['findings']
        return count

    def is_mark(self, seq):
        return self.graph.commands[seq]['call'].startswith(self.waits or ('-',))

    def check_order(self):
        """A command waits, then is about to run, then runs, without a gap, from its call on."""
        for seq, rows in self.rows.items():
            assert rows[0]['begin_ns'] in (self.calls[seq]['time_ns'], self.times.get(seq, (None,))[0]), rows
            for a, b in zip(rows, rows[1:]):
                assert a['end_ns'] == b['begin_ns'] and RANKS[a['state']] <= RANKS[b['state']], (a, b)
            assert (rows[-1]['state'] == 'running') == (seq in self.times) or self.is_mark(seq), rows

    def check_times(self):
        for seq, (start, end) in self.times.items():
            row = self.rows[seq][-1]
            assert row['end_ns'] == end and (self.is_mark(seq) or start == end or row['begin_ns'] == start), (row, start, end)

    def check_busy(self, kind, subject):
        """A stream runs just when one of its commands does."""
        spans = {}
        for seq, rows in self.rows.items():
            spans.setdefault(subject(seq), []).extend((r['begin_ns'], r['end_ns']) for r in rows if r['state'] == 'running')
        for what, rows in by_subject(self.answer[kind]).items():
            busy, total = sorted(spans.get(what, [])), 0
            until = 0
            for start, end in busy:
                total += max(0, end - max(start, until))
                until = max(until, end)
            assert sum(r['duration_ns'] for r in rows if r['state'] == 'running') == total, what

    def ready(self):
        """command -> time at which the last of what it had to wait for ended, as far as times are known."""
        found = {}
        into = {}
        for edge in self.graph.edges:
            if edge['reason'] in ('signal', 'stream') and not edge['part']:
                into.setdefault(edge['to'], []).append(edge)
        for place in self.graph.on_stream.values():
            before = 0
            for _, seq in sorted(place):
                times = [before]
                for edge in into.get(seq, ()):
                    start = self.graph.commands.get(edge['from'])
                    if not start:
                        times.append(self.calls[edge['from']]['time_ns'] if edge['from'] > seq else 0)
                        continue
                    if edge['begin'] and edge['from'] in self.times:
                        times.append(self.times[edge['from']][0])
                    over = {edge['from']} if edge['alone'] else self.graph.until(start['stream'], start['position'] - edge['begin'])
                    times += [self.times[one][1] for one in over if one in self.times and not (edge['alone'] and edge['begin'])]
                before = found[seq] = max(times)
        return found

    def check_waits(self):
        """Returns how many commands waited."""
        ready, count = self.ready(), 0
        for seq, (start, end) in self.times.items():
            call = self.calls[seq]['time_ns']
            limit = min(max(start, min(ready[seq], end)), end) if self.is_mark(seq) else start
            until = min(max(ready[seq], call), limit)
            waits = [row for row in self.rows[seq] if row['state'] == 'wait']
            assert [(row['begin_ns'], row['end_ns']) for row in waits] == [(call, until)] * (until > call), (seq, waits, call, until)
            for row in waits:
                assert row['reason'] in ('signal', 'stream') and (row['by'] is None) != (row['until'] is None), row
            count += len(waits)
        return count


def check_too_early(tool, alter, trace, waits=()):
    """A time that says that a command ran longer than until one that waits for it begins is found, and nothing else is."""
    s = States(tool, trace, waits)
    for edge in s.graph.edges:
        if edge['reason'] != 'signal' or edge['part'] or edge['begin'] or not {edge['from'], edge['to']} <= set(s.times):
            continue
        start, end = s.times[edge['from']]
        late = (s.times[edge['to']][1] if s.is_mark(edge['to']) else s.times[edge['to']][0]) + 1000000
        r = s.graph.commands[edge['from']]
        times = [t for t in s.graph.records if t['call'] == 'gpu_time' and
                 (t['args']['of_stream'], t['args']['of_position']) == (r['stream'], r['position']) and not t['args']['command']]
        if len(times) != 1:
            continue
        subprocess.run([alter, trace, f'{trace}.late', 'slot', str(times[0]['seq']), f'4:{late - start}'], check=True)
        found = states(tool, f'{trace}.late')['findings']
        os.unlink(f'{trace}.late')
        assert {row['before'] for row in found} == {edge['from']}, (found, edge)
        row, = (row for row in found if row['seq'] == edge['to'])
        assert 900000 < row['by_ns'] <= 1000000, row
        return 1
    return 0
