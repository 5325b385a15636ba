#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel records to stdout, as docs/FORMAT.md 10.2 has them: a ring with three jobs, one of which
fails, one of which is put aside for another; one record is lost. With "joined": one job, which the
trace's own program submits. With "ioctls": four, by two threads of it."""
import struct
import sys

STREAM_INFO, METADATA, COMMIT, SUBMIT, START, END, COMPLETE = range(1, 8)
WAIT_ENTER, WAIT_EXIT = 10, 11
START_NS = 1000  # as the trace that make_trace writes
joined = "joined" in sys.argv
ioctls = "ioctls" in sys.argv
SLOWER = int(sys.argv[1]) if len(sys.argv) > 1 and not joined and not ioctls else 1000
count = [0, 0]
pid, tid = (4711, 4711) if joined or ioctls else (77, 78)


def record(kind, us, ctx=0, seqno=0, value=0, body=b"", lost=0):
    count[1] += lost
    out = struct.pack("<HBBHBBQQIIIIQQQ", 64 + len(body), kind, 0, 0, 1, 1, START_NS + int(us * SLOWER), count[0],
                      0 if kind < COMMIT else 1, pid, count[1], tid, ctx, seqno, value) + body
    count[0] += 1
    count[1] += 1
    sys.stdout.buffer.write(out)


def metadata(kind, ring, text):
    body = struct.pack("<II56s", kind, 0, text)
    out = struct.pack("<HBBHBBQQIIIIQQQ", 64 + len(body), METADATA, 0, 0, 1, 1, START_NS, count[0], ring, 77,
                      count[1], 78, 0, 0, 0) + body
    count[0] += 1
    count[1] += 1
    sys.stdout.buffer.write(out)


record(STREAM_INFO, 0, body=bytes(64))
metadata(1, 0, b"6.1.0-toy")
metadata(3, 0, b"toygpu 0000:01:00.0")
metadata(4, 1, b"gfx0")
if joined:
    record(SUBMIT, 1004.6, 5, 1)
    record(START, 1005, 5, 1)
    record(END, 1009, 5, 1)
    record(COMPLETE, 1009.2, 5, 1)
    sys.exit()
if ioctls:
    record(SUBMIT, 1003.1, 5, 7)
    record(SUBMIT, 1003.2, 5, 8)
    tid = 4712
    record(SUBMIT, 1004.6, 6, 1)
    tid = 4711
    record(SUBMIT, 1004.7, 6, 2)
    sys.exit()
record(COMMIT, 1000, 5, 1)
record(SUBMIT, 1010, 5, 1)
record(START, 1050, 5, 1)
record(WAIT_ENTER, 1060, 5, 1)
record(SUBMIT, 1100, 6, 1)
record(START, 1120, 6, 1)
record(END, 1220, 6, 1)
record(COMPLETE, 1225, 6, 1)
record(END, 2050, 5, 1, value=START_NS + 2049_000)
record(COMPLETE, 2060, 5, 1)
record(WAIT_EXIT, 2070, 5, 1)
record(SUBMIT, 2100, 5, 2)
record(END, 2500, 5, 2, lost=1)
record(COMPLETE, 2501, 5, 2, value=62)
