# SPDX-License-Identifier: Apache-2.0
"""Traces that end anywhere. usage: every_prefix.py API

Recorded traces are cut at chunks, and at a sample of their records: there once as a file that was cut off, and
once as a recording that ended there. With TS_TEST_ALL=1 at each chunk and each record. tsreplay, trim and check must end by
themselves, without a crash; nothing is called different, and what was cut off is never called the same.
Environment: see every_range.py."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))
from damage_chunks import chunks
from every_range import BIN, BUILD, CAPTURE, EMU, Failures, folder, programs, run

ALL = bool(os.environ.get('TS_TEST_ALL'))
RECORDS = {'cuda': 6, 'hsa': 6, 'drm': 4, 'vulkan': 2}  # of each program
VULKAN = ('vk_staging-4-value', 'vk_host-event')
CUDA = ('values', 'graphs', 'functions', 'pipeline-4', 'hostmem', 'pools', 'threads')
HSA = ('hsa_barriers-hsa_kernels.hsaco', 'hsa_host-hsa_kernels.hsaco')
SAME, DIFFERENT, CANNOT_TELL, NOTHING = 0, 1, 2, 3

failures = Failures()
answers = {}  # exit status -> how many replays of recordings that ended early gave it


def name_of(words):
    return '-'.join(os.path.basename(word) for word in words)


def chosen(api):
    """Small programs, those foremost in which commands wait for the host."""
    found = programs(api)
    if not ALL and api != 'drm':
        names = VULKAN + CUDA + HSA
        found = [(words, env) for words, env in found if name_of(words) in names]
    if api == 'hsa':
        found += [([folder('hsa/hsa_waits'), way], {'LD_LIBRARY_PATH': EMU}) for way in ('overwritten', 'barrier_value')]
        found += [([folder('hsa/hsa_releases'), folder('hsa/hsa_kernels.hsaco'), way], {'LD_LIBRARY_PATH': EMU})
                  for way in ('store_screlease', 'behind')]
    return found


class Prefix:
    """One trace that was cut."""

    def __init__(self, path, env, is_cut):
        self.path, self.env, self.is_cut = path, env, is_cut

    def fail(self, what, done):
        told = done and (done.returncode, done.stdout[-300:], done.stderr[-300:])
        failures.append(f'{self.path.name}, {what}: {told}')

    def end(self, *words):
        """What the tool said; None: it failed."""
        what = ' '.join(str(word) for word in words)
        try:
            done = run([os.path.join(BIN, 'tracesmith'), *words, self.path], self.env)
        except subprocess.TimeoutExpired:
            failures.append(f'{self.path.name}, {what}: it does not end')
            return None
        if done.returncode not in (SAME, DIFFERENT, CANNOT_TELL, NOTHING):
            self.fail(f'{what}: it crashes', done)
        elif 'no progress' in done.stderr + done.stdout:
            self.fail(f'{what}: it waits', done)
        return done

    def replay(self, *options):
        where = ['--device', 'emu'] if 'LD_LIBRARY_PATH' in self.env else []
        done = self.end('replay', '--timeout', '20', *where, *options)
        if done and not self.is_cut:
            answers[done.returncode] = answers.get(done.returncode, 0) + 1
        if done and done.returncode == DIFFERENT:
            self.fail(f'replay {options}: different', done)
        if done and done.returncode == SAME and self.is_cut:
            self.fail(f'replay {options}: same', done)

    def check(self):
        done = self.end('check')
        if done and done.returncode == SAME and self.is_cut:
            self.fail('check is content', done)
        if done and done.returncode != SAME and not self.is_cut:
            self.fail('check is not content', done)

    def trim(self, turn):
        part = self.path.with_name('part.sbt')
        part.unlink(missing_ok=True)
        begin = 0 if turn % 2 else self.path.stat().st_size % 40
        lossy = ['--lossy'] if self.is_cut else []
        where = ['--device', 'emu'] if 'LD_LIBRARY_PATH' in self.env else []
        done = self.end('trim', '--timeout', '20', *lossy, *where, '--range', f'{begin}:1000000', '-o', part)
        if done and done.returncode == SAME:
            made = Prefix(part, self.env, self.is_cut)
            made.replay(*lossy)

    def try_all(self, turn):
        self.replay(*(['--lossy'] if self.is_cut else []))
        if self.is_cut:
            self.replay()
        if turn % 4 == 0:
            self.replay('--lossy', '--check')
        self.trim(turn)
        self.check()


def sample(count, size):
    step = 1 if ALL else max(1, count // size)
    return range(1 + count % step, count, step)


def try_program(words, env, place, size):
    trace = place / f'{name_of(words)}.sbt'
    trace.unlink(missing_ok=True)
    ran = run(words, {**env, 'TS_OUTPUT': trace}, [CAPTURE])
    if not trace.exists():
        failures.append(f'{words}: {ran.returncode} {ran.stderr}')
        return
    data = trace.read_bytes()
    for turn, (at, _, _) in enumerate(chunks(data)[::1 if ALL else 6]):
        path = place / f'{name_of(words)}-at-{at}.sbt'
        path.write_bytes(data[:at])
        Prefix(path, env, True).try_all(turn)
        path.unlink()
    shown = run([os.path.join(BIN, 'tsview'), '--json', trace], {})
    count = sum('"call"' in line for line in shown.stdout.splitlines()[1:])
    for turn, end in enumerate(sample(count, size)):
        action = 'head' if ALL or turn % 2 else 'cut'
        for kind in ('cut', 'head') if ALL else (action,):
            path = place / f'{name_of(words)}-{kind}-{end}.sbt'
            run([os.path.join(BUILD, 'programs/alter_trace'), trace, path, kind, end], {})
            Prefix(path, env, kind == 'cut').try_all(turn)
            path.unlink()


def main():
    with tempfile.TemporaryDirectory(prefix='ts-prefix.') as place:
        for words, env in chosen(sys.argv[1]):
            try_program(words, env, pathlib.Path(place), RECORDS[sys.argv[1]])
    print(answers)
    if not answers.get(SAME):
        failures.append('no recording that ended early is the same')
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
