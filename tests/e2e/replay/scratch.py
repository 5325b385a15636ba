#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tsreplay --check` leaves out memory that differs between its runs where no result depends on it: ways to use it × what was recorded of
accesses."""

import json
import os
import tempfile

from recorded import BIN, PROGRAMS, record, run

SAME, DIFFERENT = 'same', 'different'
# With the accesses that the device saw, and without.
WAYS = {'unread': (SAME, DIFFERENT), 'freed': (SAME, DIFFERENT), 'copied': (SAME, DIFFERENT), 'kernel': (SAME, DIFFERENT),
        'read': (DIFFERENT, DIFFERENT), 'seen': (DIFFERENT, DIFFERENT), 'managed': (DIFFERENT, DIFFERENT)}


def check(trace, *options, **settings):
    done = run([BIN / 'tracesmith', 'replay', '--device', 'emu', '--check=1', *options, trace], **settings)
    return done


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ['TS_TEST_PTX'] = str(PROGRAMS / 'kernels.ptx')
        for way, verdicts in WAYS.items():
            for observed, verdict in zip(('1', '0'), verdicts):
                trace = record(f'{way}-{observed}.sbt', 'scratch', way, TS_ACCESSES=observed)
                done = check(trace, '--json')
                result = json.loads(done.stdout)
                assert result['verdict'] == verdict and done.returncode == (verdict != SAME), (way, observed, result)
                assert verdict != SAME or result['scratch_byte_count'] > 0, (way, observed, result)
                arms = {arm['arm']: arm for arm in result['arms']}
                assert arms['repeat']['scratch_byte_count'] == 0, result
                assert (arms['schedule']['scratch_byte_count'] > 0) == (verdict == SAME) or verdict == DIFFERENT, result
                # Whoever has not recorded what would tell is told so.
                assert ('TS_ACCESSES=1' in result['why']) == (observed == '0'), (way, observed, result)
        told = check('unread-1.sbt')
        assert told.returncode == 0 and 'bytes of scratch memory differ between runs: no result depends on them' in told.stderr, told
        # A result that differs is none of it, nor is a device that loses stores.
        trace = record('atomic.sbt', 'wrong', 'atomic', TS_ACCESSES='1')
        assert check(trace).returncode == 1
        assert check('unread-1.sbt', TS_EMU_DROP='50:3').returncode == 1


main()
