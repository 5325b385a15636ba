#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the GPU times of the program `timed` in virtual time on the default machine, by hand, and prints them.

usage: virtual_times.py RECORDS OUTPUT: `tsview --json` of the recording, and what the program printed"""
import json
import re
import struct
import sys

CALL, LATENCY, COPY, MBPS, DEVICE_MBPS = 1000, 5000, 1500, 12000, 300000
COUNT = 4096


def up(a, b):
    return -(-a // b)


def single(ns):
    """The driver's float of milliseconds, as the program prints it."""
    return '%.6f' % struct.unpack('f', struct.pack('f', ns / 1e6))[0]


records = [json.loads(line) for line in open(sys.argv[1], encoding='utf-8')][1:]
at = {(r['stream'], r['position']): i for i, r in enumerate(records) if r['kind'] == 'command' and r['position']}
times = {}
for r in records:
    if r['call'] == 'gpu_time':
        args = r['args']
        assert args['flags'] == 'virtual' and args['error_ns'] == 0, args
        times[at[args['of_stream'], args['of_position']]] = (args['start_ns'], args['start_ns'] + args['duration_ns'])
for i in sorted(times):
    print(records[i]['call'], *times[i])

sent = [(records[i]['call'], *times[i]) for i in sorted(times)]
names = [s[0] for s in sent]
assert names == ['cuMemsetD8_v2', 'cuLaunchKernel', 'cuLaunchKernel', 'cuMemcpyHtoDAsync_v2', 'cuLaunchKernel', 'cuMemcpyDtoH_v2',
                 'cuMemcpyHtoD_v2', 'cuGraphLaunch', 'cuMemsetD8Async', 'cuMemcpyDtoHAsync_v2'], names
clear, first, second, up_async, third, down, up_sync, graph, fill, last = (s[1:] for s in sent)
copy = COPY + up(COUNT * 4 * 1000, MBPS)
# launch, record, launch, record, copy, wait, launch, record, copy ...: each call takes CALL. The first copy does not
# wait: its bytes are read at the call.
assert clear == (CALL + LATENCY, CALL + LATENCY + up(COUNT * 4 * 1000, DEVICE_MBPS)), clear
base = clear[1]  # the program waits for it
assert first[0] == base + CALL + LATENCY, first
assert second[0] == first[1], (first, second)
assert up_async == (base + 5 * CALL + LATENCY, base + 5 * CALL + LATENCY + copy), up_async
third_ready = max(base + 7 * CALL + LATENCY, second[1], up_async[1])
assert third[0] == third_ready, (third, third_ready)
down_ready = max(base + 9 * CALL + LATENCY, second[1])  # the default stream joins the first one alone
assert down == (down_ready, down_ready + copy), (down, down_ready)
assert up_sync == (down[1] + CALL + LATENCY, down[1] + CALL + LATENCY + copy), (down, up_sync)
now = up_sync[1]
assert graph[0] == now + 2 * CALL + LATENCY, (now, graph)
asked = int(re.search(r'asked (\d+)', open(sys.argv[2], encoding='utf-8').read()).group(1))
end = max(graph[1], now + 3 * CALL + LATENCY)  # of event 4
assert asked + 1 == up(end - now - 3 * CALL, CALL), (asked, end, now)
now += (3 + asked + 1) * CALL
assert fill == (now + CALL + LATENCY, now + CALL + LATENCY + up(COUNT * 1000, DEVICE_MBPS)), (now, fill)
assert last[1] - last[0] == COPY + up(64 * 1000, MBPS), last
ends = [first[1], second[1], third[1], up_sync[1] + CALL + LATENCY, end, last[1] + CALL + LATENCY]
for i in range(1, 6):
    line = f'0 to {i}: {single(ends[i] - ends[0])} ms'
    assert line in open(sys.argv[2], encoding='utf-8').read(), (line, ends)
