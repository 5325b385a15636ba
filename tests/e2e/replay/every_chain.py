# SPDX-License-Identifier: Apache-2.0
"""Chains of tools over recorded traces: a part of a part, a repair, a redaction, a removed command.
usage: every_chain.py API [FIRST_SEED COUNT]

After each step the trace keeps the rules, a second repair changes nothing, and a replay ends with a verdict. As long as
nothing is missing, a part replays as its range did; once a command is missing, neither a replay nor tsdiff says "same".
Environment: see every_range.py."""

import json
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from damage_chunks import chunks
from every_range import BIN, CAPTURE, Failures, folder, programs, run

STEPS = 4
COUNTS = {'cuda': 30, 'hsa': 10, 'drm': 8, 'vulkan': 4}
SAME, DIFFERENT, CANNOT_TELL, NOTHING = 0, 1, 2, 3
failures = Failures()


class Chain:
    def __init__(self, words, env, seed, place):
        self.rng, self.env, self.place, self.log = random.Random(seed), env, place, []
        self.name = f'{"-".join(os.path.basename(word) for word in words)}, seed {seed}'
        self.missing = False
        self.trace = place / 't0.sbt'
        settings = {'TS_CHECKPOINT': str(self.rng.choice((7, 15, 40)))} if self.rng.random() < .4 else {}
        run(words, {**env, **settings, 'TS_OUTPUT': self.trace}, [CAPTURE])

    def fail(self, *words):
        failures.append(f'{self.name}: {self.log}: {" ".join(map(str, words))}')

    def tool(self, *words):
        done = run([os.path.join(BIN, 'tracesmith'), *words], self.env)
        if done.returncode not in range(4):
            self.fail(words, done.returncode, done.stderr[-300:])
        return done

    def device(self):
        return ['--timeout', '5', *(['--device', 'emu'] if 'LD_LIBRARY_PATH' in self.env else [])]

    def replay(self, trace, *options):
        done = self.tool('replay', '--json', *self.device(), *options, trace)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {'error': done.stderr[-300:]}

    def records(self, trace):
        lines = self.tool('view', '--json', trace).stdout.splitlines()[1:]
        return [json.loads(line) for line in lines]

    def trim(self, trace, out, whole):
        count = len(self.records(trace))
        first = self.rng.choice((0, self.rng.randrange(count), self.rng.randrange(count)))
        end = self.rng.choice((count, self.rng.randrange(first, count) + 1))
        options = (['--whole'] if whole else []) + (['--lossy', '--keep-going'] if self.missing else [])
        done = self.tool('trim', *self.device(), *options, '--range', f'{first}:{end}', '-o', out, trace)
        self.log.append(f'trim {options} {first}:{end}')
        if done.returncode:
            if out.exists() or not done.stderr:
                self.fail('leaves a file, or says nothing', done.stderr)
            return False
        before, here = self.replay(trace, '--range', f'{first}:{end}')
        behind, part = self.replay(out)
        if not whole and not self.missing and before in (SAME, NOTHING) and 'error' in part:
            self.fail('the range can be replayed, its part cannot', here, part, behind)
        return True

    def damage(self, trace, out, zeros):
        data = bytearray(trace.read_bytes())
        places = [at for at, _, _ in chunks(data)][2:]
        at = min(self.rng.choice(places) + self.rng.choice((0, 1, 96, 300)), len(data) - 1)
        if zeros:
            end = min(len(data), (at | 511) + 1)
            data[at & ~511:end] = bytes(end - (at & ~511))
        else:
            del data[at:]
        self.log.append(f'{"zeros" if zeros else "cut"} at {at}')
        if bytes(data) == trace.read_bytes():
            return False
        out.write_bytes(data)
        verdict, _ = self.replay(out)
        if verdict == DIFFERENT:
            self.fail('what is damaged is called different')
        if self.tool('view', '--repair', '--limit', '1', out).returncode:
            return False
        once = out.read_bytes()
        self.tool('view', '--repair', '--limit', '1', out)
        if once != out.read_bytes():
            self.fail('a second repair changes it')
        self.missing = self.missing or self.lacks(trace, out)
        return True

    def lacks(self, whole, part):
        """An index that is damaged is written again: nothing is missing then."""
        count = [sum(r['call'] != 'lost' for r in self.records(trace)) for trace in (whole, part)]
        return count[0] > count[1]

    def remove(self, trace, out):
        """A command between others of its stream: its place remains."""
        records = self.records(trace)
        places = {}
        for r in records:
            if r['stream'] is not None and r['position']:
                places.setdefault(r['stream'], []).append(r['position'])
        found = [r['seq'] for r in records if r['position'] and r['stream'] is not None
                 and min(places[r['stream']]) < r['position'] < max(places[r['stream']])]
        if not found:
            return False
        number = self.rng.choice(found)
        self.log.append(f'remove {number}')
        done = run([folder('programs/alter_trace'), trace, out, 'remove', str(number)], {})
        self.missing = self.missing or done.returncode == 0
        return done.returncode == 0

    def step(self, number):
        out = self.place / f't{number}.sbt'
        what = self.rng.choice(('trim', 'trim', 'trim', 'whole', 'redact', 'cut', 'zeros', 'remove'))
        if what in ('trim', 'whole'):
            return out if self.trim(self.trace, out, what == 'whole') else None
        if what == 'redact':
            self.log.append(what)
            done = self.tool('redact', '--lossy', '--remove=paths,user,command', '-o', out, self.trace)
            return out if done.returncode == 0 else None
        made = self.remove(self.trace, out) if what == 'remove' else self.damage(self.trace, out, what == 'zeros')
        return out if made else None

    def judge(self):
        if self.log[-1].startswith('remove'):
            return  # that copy may name stacks that are not there
        checked = self.tool('check', self.trace)
        if checked.returncode:
            self.fail('breaks rules:', checked.stdout[-300:], checked.stderr)
        verdict, result = self.replay(self.trace)
        itself = self.tool('diff', self.trace, self.trace).returncode
        if DIFFERENT in (verdict, itself):
            self.fail('different', result.get('why'))
        trimmed = any(line.startswith('trim') for line in self.log)
        if self.missing and not trimmed and SAME in (verdict, itself):
            self.fail('same, and something is missing', verdict, itself)
        if result.get('uncompared_count') and itself == SAME:
            self.fail('tsdiff says same where a command with a result is missing', result.get('why'))

    def go(self):
        if not self.trace.exists():
            self.fail('no trace')
            return
        for number in range(1, STEPS + 1):
            made = self.step(number)
            if made:
                self.trace = made
                self.judge()
            if not self.records(self.trace):
                return


def main():
    api = sys.argv[1]
    first, count = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (170, COUNTS[api])
    found = programs(api)
    for seed in range(first, first + count):
        words, env = found[seed % len(found)]
        with tempfile.TemporaryDirectory(prefix='ts-chain.') as place:
            Chain(words, env, seed, pathlib.Path(place)).go()
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
