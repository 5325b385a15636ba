# SPDX-License-Identifier: Apache-2.0
"""Programs made of a number (hsa_random), recorded, replayed, damaged. usage: random_hsa.py FIRST COUNT

Recording changes nothing of what they print; a replay is the same, in any order; one on a device that is
wrong, or of a trace that lacks a command, never is. Meson sets TEST_BIN, TEST_CAPTURE, TEST_EMU, TEST_PROGRAMS."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BIN, CAPTURE, EMU, PROGRAMS = (os.environ[f'TEST_{name}'] for name in ('BIN', 'CAPTURE', 'EMU', 'PROGRAMS'))
ALTER = pathlib.Path(PROGRAMS).parent / 'programs' / 'alter_trace'
SETTINGS = [[], ['--order', 'permuted:1'], ['--order', 'delayed:2'], ['--pace', 'stepped'], ['--grain', 'command'],
            ['--pace', 'fast']]
failures = []


def failed(text):
    failures.append(text)
    print(text, flush=True)


def run(words, env, limit=60):
    return subprocess.run([str(word) for word in words], env={**os.environ, 'LD_LIBRARY_PATH': EMU, **env},
                          capture_output=True, text=True, timeout=limit, check=False, stdin=subprocess.DEVNULL)


def replay(name, trace, expected, *options, **env):
    try:
        shown = run([os.path.join(BIN, 'tsreplay'), '--device', 'emu', trace, *(options if '--timeout' in options else ('--timeout', '20', *options))], env)
    except subprocess.TimeoutExpired:
        return failed(f'{name} {options} {env}: hangs')
    if 'bytes given back' in shown.stdout and shown.returncode == 2:
        return 2  # it was not seen when they were there
    if shown.returncode not in expected or ('no progress' in shown.stderr and '--timeout' not in options):
        failed(f'{name} {options} {env}: exit status {shown.returncode}, not {expected}: '
               f'{shown.stdout[-500:]} {shown.stderr[-300:]}')
    return shown.returncode


def positions(trace):
    """Numbers of records of commands, but for the last one of each stream: nothing tells that it is missing."""
    shown = run([os.path.join(BIN, 'tsview'), '--json', trace], {})
    records = [r for r in map(json.loads, shown.stdout.splitlines()) if r.get('position')]
    last = {r['stream']: r['seq'] for r in records}
    return [r['seq'] for r in records if last[r['stream']] != r['seq']]


def check(seed, folder, poll, checksum, late):
    name = f'seed {seed}, TS_CHECKSUM={checksum}, TS_EMU_LATE={late}, TEST_POLL={poll}'
    words = [os.path.join(PROGRAMS, 'hsa_random'), os.path.join(PROGRAMS, 'hsa_kernels.hsaco'), seed]
    trace = folder / 't.sbt'
    env = {'TS_EMU_LATE': late, **({'TEST_POLL': '1'} if poll else {})}
    plain = run(words, env)
    recorded = run(words, {**env, 'LD_PRELOAD': CAPTURE, 'TS_OUTPUT': str(trace), 'TS_CHECKSUM': checksum})
    if plain.returncode or (plain.stdout, plain.returncode) != (recorded.stdout, recorded.returncode):
        failed(f'{name}: {plain} {recorded}')
    chance = random.Random(seed)
    got = replay(name, trace, (0, 2) if checksum == 'sync' or poll else (0,))
    for options in chance.sample(SETTINGS[1:], 2):
        replay(name, trace, (got,), *options)
    replay(name, trace, (got,), TS_EMU_LATE='2')
    replay(name, trace, (1, 2), TS_EMU_WRONG='1')
    if checksum == 'sync':  # else what kernels write into memory of the host is not compared
        replay(name, trace, (1, 2), TEST_OTHER_RESULT='1')
        replay(name, trace, (1, 2), TEST_LOST=f'{seed}:{chance.choice((60, 400, 4000))}')
    numbers = positions(trace)
    for number in chance.sample(numbers, min(3, len(numbers))):
        cut = folder / f'{number}.sbt'
        altered = run([ALTER, trace, cut, 'remove', number], {})
        if altered.returncode:
            failed(f'{name}: {altered}')
        replay(f'{name}, without record {number}', cut, (1, 2), '--timeout', '3')
        cut.unlink()
    return got


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    same = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            chance = random.Random(seed)
            got = check(seed, pathlib.Path(folder), seed % 4 == 3, ('off', 'sync')[seed % 2], chance.choice('003'))
            same += got == 0
    print(f'{same} of {count} the same, {len(failures)} failures')
    sys.exit(bool(failures))


if __name__ == '__main__':
    main()
