# SPDX-License-Identifier: Apache-2.0
"""What the tests of `tracesmith critical` share, of commands that may overlap on their stream: the chain, what devices waited for and single
waits are computed again here, step by step, from `tsview --json` and `tracesmith graph --json`."""

import json
import subprocess

from loose import Graph

NEVER = 2 ** 64
RUN = ('kernel', 'copy', 'fill', 'submit', 'other', 'busy queue')


def critical(tool, trace, *options):
    done = subprocess.run([tool, 'critical', '--json', *options, trace], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)['loose']


def notes(tool, trace, *options):
    done = subprocess.run([tool, 'critical', *options, trace], capture_output=True, text=True, check=True)
    return done.stderr, done.stdout


def check_top(tool, trace):
    """--top cuts each table, as text and as JSON; stacks are those of the rows that are left."""
    few, every = critical(tool, trace, '--list', '--top=2'), critical(tool, trace, '--list')
    for name in ('critical_path', 'waits', 'pieces'):
        assert few[name] == every[name][:2] and (len(every[name]) > 2 or name == 'waits'), (name, few[name])
    assert few['devices'][0]['idle'] == every['devices'][0]['idle'][:2], few['devices']
    stacks = [subprocess.run([tool, 'critical', '--stacks', top, trace], capture_output=True, text=True, check=True).stdout for top in ('--top=1', '--top=0')]
    assert stacks[0].count('--top=0 shows all') > 1 and 0 < stacks[0].count(' main at ') < stacks[1].count(' main at '), stacks


def check_cover(answer):
    """Pieces lie next to each other, from the begin to the end; sums of causes are those of the pieces; what devices waited for is part of the time."""
    at, sums = answer['begin_ns'], {}
    for piece in answer['pieces']:
        assert piece['begin_ns'] == at and piece['end_ns'] - at == piece['duration_ns'] > 0, (at, piece)
        at = piece['end_ns']
        sums[piece['cause']] = sums.get(piece['cause'], 0) + piece['duration_ns']
    assert at == answer['begin_ns'] + answer['span_ns'], (at, answer['begin_ns'], answer['span_ns'])
    for row in answer['critical_path']:
        sums[row['cause']] -= row['total_ns']
        assert row['gain_ns'] is None and row['longest_ns'] <= row['total_ns'], row
    assert not any(sums.values()), sums
    assert all(row['gain_ns'] is None and row['waited_ns'] > 0 for row in answer['waits']), answer['waits']
    for device in answer['devices']:
        assert sum(row['total_ns'] for row in device['idle']) == device['idle_ns'] <= answer['span_ns'], device


def union(spans):
    """Spans that do not overlap, in order, of the same time."""
    found = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        elif start < end:
            found.append([start, end])
    return found


class Critical:
    def __init__(self, tool, trace, prefixes, marks=(), blocking=(), presents=()):
        """`prefixes`: begins of the names of the API's calls; `marks`: of those that do nothing but wait; `blocking`: names of commands that
        return when they have ended; `presents`: of those that no queue waits for."""
        self.blocking, self.presents = blocking, presents
        self.graph, self.answer = Graph(tool, trace), critical(tool, trace, '--list', '--slack')
        self.marks = tuple(marks) or ('-',)
        self.commands = self.graph.commands
        self.records = {r['seq']: r for r in self.graph.records}
        self.times = {}
        places = {(r['stream'], r['position']): seq for seq, r in self.commands.items()}
        for r in self.graph.records:
            a = r['args']
            if r['call'] == 'gpu_time' and not a['command'] and not a['run'] and 'calibrated' in a['flags']:
                seq = places[a['of_stream'], a['of_position']]
                start, end = self.times.get(seq, (NEVER, 0))
                self.times[seq] = min(start, a['start_ns']), max(end, a['start_ns'] + a['duration_ns'])
        self.threads = {}
        for r in self.graph.records:
            if r['call'].startswith(prefixes) and r['kind'] not in ('init', 'meta'):
                self.threads.setdefault(r['thread'], []).append(r)
        for calls in self.threads.values():
            calls.sort(key=lambda r: (r['time_ns'], r['seq']))
        self.calls = {r['seq']: r for calls in self.threads.values() for r in calls}
        self.into = {}
        for edge in self.graph.edges:
            self.into.setdefault(edge['to'], []).append(edge)
        self.order = {seq: [one for _, one in sorted(self.graph.on_stream[r['stream']])] for seq, r in self.commands.items()}
        done = subprocess.run([tool, 'view', '--states', '--json', trace], capture_output=True, text=True, check=True)
        self.states, self.over = json.loads(done.stdout), {}
        for row in self.states['commands']:
            if row['seq'] is not None:
                self.over[row['seq']] = row['end_ns']
        self.ready, self.unsure = {}, {}
        for seqs in {tuple(order) for order in self.order.values()}:
            before, unsure = (0, None), None
            for seq in seqs:
                edges = [edge for edge in self.into.get(seq, ()) if edge['reason'] in ('signal', 'stream') and not edge['part']]
                own, call = self.last_of(edges), self.records[seq]['time_ns']
                self.ready[seq] = own, before
                self.unsure[seq] = self.unsure_of(edges, call) or (unsure if unsure and self.may_run(unsure, call) else None)
                unsure = self.unsure[seq]
                before = max(before, own, key=lambda last: last[0])
        steps = [self.times[seq][0] for seq in self.times] + [r['time_ns'] for r in self.calls.values()]
        self.begin = min(steps)
        self.end = max([end for _, end in self.times.values()] + [self.end_of(r) for r in self.calls.values()])

    @staticmethod
    def end_of(call):
        return call['time_ns'] + call['duration_ns']

    def is_mark(self, seq):
        return self.commands[seq]['call'].startswith(self.marks)

    def is_work(self, seq):
        return not self.is_mark(seq) and self.commands[seq]['call'] not in self.presents

    def runs(self, seq):
        return seq in self.times and not self.is_mark(seq)

    def is_wait(self, call):
        return call['kind'] == 'sync' or call['call'] in self.blocking

    def may_run(self, seq, call_ns):
        """A command without a time may have run after the call."""
        return self.over.get(seq, NEVER) > call_ns

    def unsure_of(self, edges, call_ns):
        """The command without a time that edges are from, if it may have run after the call."""
        found = None
        for edge in edges:
            start = self.commands.get(edge['from'])
            if not start or (edge['alone'] and edge['begin']):
                continue
            over = [edge['from']] if edge['alone'] else sorted(self.graph.until(start['stream'], start['position'] - edge['begin']), key=lambda seq: self.commands[seq]['position'])
            over = [seq for seq in over if seq not in self.times and (edge['alone'] or self.is_work(seq))][-1:]
            found = over[0] if over and self.may_run(over[0], call_ns) else found
        return found

    def last_of(self, edges):
        """(time, record) of what edges come from that was over last, as far as times are known."""
        last = (0, None)
        for edge in edges:
            found, start = [], self.commands.get(edge['from'])
            if not start:
                if edge['from'] > edge['to'] or edge['reason'] == 'host':
                    found.append((self.records[edge['from']]['time_ns'], edge['from']))
            elif edge['begin'] and edge['from'] in self.times:
                found.append((self.times[edge['from']][0], edge['from']))
            if start and not (edge['alone'] and edge['begin']):
                over = {edge['from']} if edge['alone'] else self.graph.until(start['stream'], start['position'] - edge['begin'])
                found += [(self.times[one][1], one) for one in over if one in self.times]
            for one in found:
                last = one if one[0] > last[0] else last
        return last

    # ---- the way back

    def pieces(self, at, until, seq):
        """(begin, end, cause, record) of the chain that led to a record, the last piece first; `cause`: 'ran' for all kinds of work."""
        found, is_holder = [], False
        while at > until:
            assert len(found) < 4 * len(self.records), 'the way back has no end'
            if seq is None:
                break
            steps, seq, is_holder = self.command_back(seq, is_holder) if seq in self.commands and seq not in self.as_call else self.call_back(seq, at)
            for begin, cause, record in steps:
                begin = max(min(begin, at), until)
                if begin < at:
                    found.append((begin, at, cause, record))
                at = begin
        return found

    def command_back(self, seq, is_holder):
        steps, call = [], self.records[seq]
        start = self.times[seq][0] if self.runs(seq) else None
        if start is not None:
            steps = [(self.times[seq][1], 'latency', seq), (start, 'busy queue' if is_holder else 'ran', seq)]
        time, source = max(self.ready[seq][1], self.ready[seq][0], key=lambda last: last[0])
        if self.ready[seq][0][0] == time:
            source = self.ready[seq][0][1]
        has_waited = time > call['time_ns'] and source is not None and (source in self.commands or source in self.calls)
        ready = time if has_waited else self.end_of(call)
        before = [one for one in self.order[seq][:self.order[seq].index(seq)] if self.runs(one)][-1:]
        wait = ('no time', self.unsure[seq]) if self.unsure[seq] else ('latency', seq)
        if start is not None and before and ready < self.times[before[0]][1] <= start:
            return [*steps, (self.times[before[0]][1], 'turnaround', seq)], before[0], True
        if has_waited and source in self.commands:
            return [*steps, (time, *wait)], source, False
        if has_waited:
            return [*steps, (self.end_of(self.calls[source]), *wait)], source, False
        self.as_call.add(seq)
        return [*steps, (ready, *wait)], seq, False

    def call_back(self, seq, at):
        self.as_call.discard(seq)
        call_thread = self.records[seq]['thread']
        calls = self.threads[self.records[seq]['thread']]
        before = [r for r in calls[:calls.index(self.calls[seq]) + 1] if r['time_ns'] < at]
        if not before:
            other = self.returned(self.calls.values(), call_thread, 0, at)
            return [(self.end_of(other) if other else 0, 'host before', seq)], self.go_to(other), False
        call = before.pop()
        steps = [(self.end_of(call), 'host before', seq)]
        time, source = self.waited_for(call)
        since = call
        for earlier in reversed(before):
            if earlier['call'] != call['call'] or self.host_edges(earlier['seq']):
                break
            since = earlier
        if time > since['time_ns'] and source in self.commands:
            return [*steps, (time, 'wait', call['seq'])], source, False
        if time > since['time_ns'] and source in self.calls:
            self.as_call.add(source)
            return [*steps, (self.end_of(self.calls[source]), 'wait', call['seq'])], source, False
        steps.append((call['time_ns'], 'wait' if self.is_wait(call) else 'call', call['seq']))
        if before:
            lasts = [calls[-1] for calls in self.threads.values() if 'unfinished' not in calls[-1]['flags']]
            other = self.returned(lasts, call_thread, self.end_of(before[-1]), min(at, call['time_ns'])) or before[-1]
        else:
            other = self.returned(self.calls.values(), call_thread, 0, min(at, call['time_ns']))
        steps.append((self.end_of(other) if other else 0, 'host before', call['seq']))
        return steps, self.go_to(other), False

    def returned(self, calls, thread, after, until):
        """The last of these calls, of other threads, that returned in a time: no record says who waits for a thread, or starts it."""
        found = [r for r in calls if r['thread'] != thread and after < self.end_of(r) <= until]
        return max(found, key=lambda r: (self.end_of(r), r['seq']), default=None)

    def go_to(self, call):
        if call:
            self.as_call.add(call['seq'])
        return call['seq'] if call else None

    def waited_for(self, call):
        edges = self.host_edges(call['seq'])
        return (0, None) if self.unsure_of(edges, call['time_ns']) else self.last_of(edges)

    def host_edges(self, seq):
        return [edge for edge in self.into.get(seq, ()) if edge['reason'] == 'host']

    def last(self):
        ends = [(self.end_of(r), 1, seq) for seq, r in self.calls.items()] + [(end, 0, seq) for seq, (_, end) in self.times.items()]
        _, is_call, seq = max(ends)
        return seq, is_call

    def chain(self, at, until, seq, is_call):
        self.as_call = {seq} if is_call else set()
        return self.pieces(at, until, seq)

    # ---- checks

    def check(self):
        """Returns how many commands and waits are on the path, and how many waits there are."""
        check_cover(self.answer)
        self.check_path()
        self.check_idle()
        self.check_waits()
        self.check_slack()
        causes = [piece['cause'] for piece in self.answer['pieces']]
        return sum(cause in RUN for cause in causes), causes.count('wait'), len(self.answer['waits'])

    def check_path(self):
        answer = self.answer
        assert (answer['begin_ns'], answer['span_ns']) == (self.begin, self.end - self.begin)
        expected = self.chain(self.end, self.begin, *self.last())[::-1]
        got = [(p['begin_ns'], p['end_ns'], 'ran' if p['cause'] in RUN[:-1] else p['cause'], p['seq']) for p in answer['pieces']]
        different = next(((a, b) for a, b in zip(got, expected) if a != b), None)
        assert got == expected, (self.graph.trace, different, len(got), len(expected))
        for piece in answer['pieces']:
            if piece['cause'] in RUN:
                assert (piece['begin_ns'], piece['end_ns']) == self.times[piece['seq']], piece
            record = self.records[piece['seq']]
            assert (piece['call'], piece['thread']) == (record['call'], record['thread']), (piece, record)
            assert piece['stream'] == (None if piece['cause'] in ('call', 'wait', 'host before') else record['stream']), piece

    def check_idle(self):
        """Which device a stream is on is what the states say."""
        streams = {}
        for row in self.states['devices']:
            if row['seq'] is not None:
                streams.setdefault(row['of'], set()).add(self.records[row['seq']]['stream'])
        known = set().union(*streams.values())
        if len(self.answer['devices']) == 1:  # a stream may never have been the one that the states name
            streams.setdefault(self.answer['devices'][0]['device'], set()).update({r['stream'] for r in self.commands.values()} - known)
        for device in self.answer['devices']:
            here = [seq for seq, r in self.commands.items() if r['stream'] in streams.get(device['device'] or 'device', ()) and self.is_work(seq)]
            mine = {seq: self.times[seq] for seq in here if seq in self.times}
            busy, at, sums = union(mine.values()), self.begin, {}
            for start, end in busy + [[self.end, self.end]]:
                first = [seq for seq in sorted(mine) if mine[seq][0] == start]
                for begin, until, cause, _ in self.chain(start, at, *((first[0], False) if start < end else self.last())):
                    sums[cause] = sums.get(cause, 0) + until - begin
                at = end
            assert device['idle_ns'] == self.end - self.begin - sum(end - start for start, end in busy), device
            if len(mine) < len(here):
                continue  # while one without a time may have run, nothing else is said
            got = {}
            for row in device['idle']:
                cause = 'ran' if row['cause'] in RUN[:-1] else row['cause']
                got[cause] = got.get(cause, 0) + row['total_ns']
            assert got == sums, (device['device'], got, sums)

    def check_waits(self):
        expected = {}
        for seq, call in self.calls.items():
            edges = self.host_edges(seq)
            time, source = self.waited_for(call)
            if not self.is_wait(call) and not source:
                continue
            until = min(max(time, call['time_ns']), self.end_of(call)) if source else self.end_of(call)
            redundant = 'yes' if all(edge['redundant'] for edge in edges) else 'no'
            expected[seq, 'host'] = (until - call['time_ns'], source, None, redundant if edges else None)
        for seq, ((time, source), (before, _)) in self.ready.items():
            start, end = self.times.get(seq, (NEVER, NEVER))
            until = min(time, end if self.is_mark(seq) else start)
            edges = [edge for edge in self.into.get(seq, ()) if edge['reason'] == 'signal' and not edge['part']]
            waited = until - max(before, self.records[seq]['time_ns'])
            if waited > 0 and time > before and seq in self.times and not self.unsure[seq]:
                expected[seq, 'command'] = (waited, source, self.commands[seq]['stream'], edges)
        got = {}
        for row in self.answer['waits']:
            is_command = row['stream'] is not None
            key = row['seq'], 'command' if is_command else 'host'
            if is_command and row['seq'] not in self.times:
                continue  # when it was over is not in a record
            got[key] = (row['waited_ns'], row['for'], row['stream'], row['redundant'])
            assert row['call'] == self.records[row['seq']]['call'] and row['thread'] == self.records[row['seq']]['thread'], row
            if is_command and key in expected and row['redundant'] is not None:
                edges = expected[key][3]
                assert row['redundant'] == ('yes' if edges and all(edge['redundant'] for edge in edges) else 'no'), (row, edges)
        expected = {key: value for key, value in expected.items() if value[0]}
        assert {key: value[:3] for key, value in got.items()} == {key: value[:3] for key, value in expected.items()}, (got, expected)
        assert all(got[key][3] == expected[key][3] for key in got if key[1] == 'host'), (got, expected)
        waited = [(-row['waited_ns'], row['seq']) for row in self.answer['waits']]
        assert waited == sorted(waited), waited

    # ---- slack

    def over_with(self, edge):
        """Commands that an edge says are over."""
        start = self.commands[edge['from']]
        return {edge['from']} if edge['alone'] else self.graph.until(start['stream'], start['position'])

    def slack(self):
        """How much later each command may end, from the last one back."""
        ready = {seq: max(self.ready[seq][0][0], self.ready[seq][1][0], self.end_of(r)) for seq, r in self.commands.items()}
        span = {seq: self.times.get(seq, (ready[seq],) * 2) for seq in self.commands}
        found = {seq: max(0, self.end - end) for seq, (_, end) in span.items()}
        calls = {seq: max(0, self.end - self.end_of(r)) for seq, r in self.calls.items()}
        place = {seq: (stream, i) for stream, order in enumerate({tuple(order) for order in self.order.values()}) for i, seq in enumerate(order)}
        items = [(self.end_of(r), 1, 0, (thread, i), r['seq']) for thread, rs in enumerate(self.threads.values()) for i, r in enumerate(rs)]
        items += [(span[seq][1], 0, span[seq][0], place[seq], seq) for seq in self.commands]
        for _, is_call, _, _, seq in sorted(items, reverse=True):
            if is_call:
                call = self.calls[seq]
                time, own, sent = self.last_of(self.host_edges(seq))[0], calls[seq], self.is_wait(call) and seq in self.commands
                since = min(max(time, call['time_ns']), self.end_of(call)) if not sent else call['time_ns']
                edges, limit = self.host_edges(seq), own + since
                if sent:
                    found[seq] = min(found[seq], own + max(0, call['time_ns'] - span[seq][1]))
                before = self.threads[call['thread']]
                before = before[:before.index(call)][-1:]
                if before:
                    calls[before[0]['seq']] = min(calls[before[0]['seq']], own + since - call['time_ns'])
            else:
                own, could = found[seq], min(ready[seq], span[seq][0])
                before = [one for one in self.order[seq][:self.order[seq].index(seq)] if self.runs(one) and self.is_work(one)][-1:]
                if before and could < span[before[0]][1] <= span[seq][0]:
                    could = span[before[0]][1]
                    found[before[0]] = min(found[before[0]], own)
                edges, limit = [e for e in self.into.get(seq, ()) if e['reason'] in ('signal', 'stream', 'barrier')], own + could
                if seq in calls:
                    calls[seq] = min(calls[seq], own + max(0, could - self.end_of(self.calls[seq])))
            for edge in edges:
                if not is_call:  # a part of a command ends with that at the latest
                    limit = own + (span[seq][1] if edge['part'] else could)
                if edge['from'] in self.commands:
                    for one in {edge['from']} if edge['begin'] else self.over_with(edge):
                        found[one] = min(found[one], max(0, limit - span[one][not edge['begin']]))
                elif edge['from'] in calls:
                    calls[edge['from']] = min(calls[edge['from']], max(0, limit - self.end_of(self.calls[edge['from']])))
        return found

    def check_slack(self):
        expected = self.slack()
        got = {row['seq']: row['slack_ns'] for row in self.answer['slack']}
        assert got == {seq: expected[seq] for seq in self.times if self.is_work(seq)}, (self.graph.trace, [(seq, got.get(seq), expected[seq]) for seq in expected if got.get(seq) != expected[seq]][:5])
        assert list(got.values()) == sorted(got.values()), got
