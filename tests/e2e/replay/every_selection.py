# SPDX-License-Identifier: Apache-2.0
"""Every subset of the streams of random programs (tests/programs/weave.c), and ranges with them. usage:
every_selection.py [FIRST_SEED COUNT]

Each must end without a crash, a hang or a difference. What all streams give in a range must be the same as in
the whole trace. Meson sets TEST_BIN, TEST_CAPTURE, TEST_EMU and TEST_BUILD, the folder of all tests."""

import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

BIN, CAPTURE, EMU, BUILD = (os.environ[f'TEST_{name}'] for name in ('BIN', 'CAPTURE', 'EMU', 'BUILD'))
PTX = os.path.join(os.path.dirname(__file__), '../../programs/kernels.ptx')
STEPS = '30'
RANGES = 3
KINDS = ['egvpw', 'eg', 'egv', 'ew', 'egw', 'egp']
failures = []


def run(words, **env):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200, check=False,
                          env={**os.environ, 'ASAN_OPTIONS': 'verify_asan_link_order=0:detect_leaks=0', **env})


def fail(text):
    failures.append(text)
    print(text, flush=True)


def replay(trace, *options):
    shown = run([os.path.join(BIN, 'tsreplay'), '--json', '--timeout', '40', '--device', 'emu', trace, *options])
    try:
        result = json.loads(shown.stdout)
    except ValueError:
        result = {'error': f'status {shown.returncode}: {shown.stderr[-300:]}'}
    if 'error' in result or shown.returncode not in (0, 2, 3):
        fail(f'{trace.name} {" ".join(options)}: {result.get("error") or result.get("why")}')
    return result


def try_seed(seed, place):
    chance = random.Random(seed)
    kinds = KINDS[seed % len(KINDS)]
    trace = place / f'weave-{seed}-{kinds}.sbt'
    ran = run([os.path.join(BUILD, 'programs/weave'), seed, STEPS, kinds], LD_PRELOAD=CAPTURE, LD_LIBRARY_PATH=EMU,
              TS_TEST_PTX=PTX, TS_OUTPUT=trace, TS_CHECKSUM='sync' if seed % 2 else 'off')
    if ran.returncode or not trace.exists():
        fail(f'seed {seed}: {ran.returncode} {ran.stderr}')
        return
    records = [json.loads(line) for line in run([os.path.join(BIN, 'tsview'), '--json', trace]).stdout.splitlines()[1:]]
    streams = sorted({r['stream'] for r in records if isinstance(r.get('stream'), int) and r.get('position')})
    first = next(r['seq'] for r in records if r['call'] == 'cuCtxSynchronize')
    if replay(trace).get('verdict') != 'same':
        fail(f'seed {seed}: the whole is not the same')
    for count in range(1, len(streams) + 1):
        for subset in itertools.combinations(streams, count):
            chosen = ','.join(map(str, subset))
            if replay(trace, '--streams', chosen).get('verdict') not in ('same', 'nothing_to_compare'):
                fail(f'seed {seed} --streams {chosen}: not the same')
            end = chance.randrange(first, len(records) + 1)
            replay(trace, '--streams', chosen, '--range', f'{chance.randrange(end)}:{end}')
    for _ in range(RANGES):
        end = chance.randrange(first, len(records) + 1)
        replay(trace, '--range', f'{chance.randrange(end)}:{end}')
        replay(trace, '--range', f':{end}', '--order', f'permuted:{chance.randrange(1, 9)}')
    trace.unlink()


def main():
    first, count = (int(word) for word in (sys.argv[1:] or ['1', '2']))
    with tempfile.TemporaryDirectory(prefix='ts-selections.') as place:
        for seed in range(first, first + count):
            try_seed(seed, pathlib.Path(place))
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
