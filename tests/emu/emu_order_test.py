#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The schedules differ from each other, and each from run to run not at all."""
import os
import subprocess
import sys


def order(schedule):
    # ThreadSanitizer sleeps a second at exit when threads run.
    env = dict(os.environ, TS_EMU_SCHEDULE=schedule, TSAN_OPTIONS='atexit_sleep_ms=0')
    return subprocess.run([sys.argv[1]], env=env, check=True, stdout=subprocess.PIPE, text=True,
                          timeout=60).stdout.strip()


schedules = ['fifo', 'reverse'] + ['random:%d' % seed for seed in range(4)]
orders = {s: {order(s) for _ in range(3)} for s in schedules}
for s, seen in orders.items():
    one = next(iter(seen))
    assert len(seen) == 1, (s, seen)
    assert sorted(one) == list('abcdef'), (s, one)
    for first, second in ('ab', 'cd', 'ef', 'ae'):
        assert one.index(first) < one.index(second), (s, one)
assert orders['fifo'] == {'acebdf'}, orders['fifo']
assert orders['reverse'] != orders['fifo'], orders
assert len({next(iter(orders[s])) for s in schedules[2:]}) > 1, orders
