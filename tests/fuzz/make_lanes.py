#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of tests/fuzz/lanes_corpus (see fuzz_lanes.c for their form): make_lanes.py FOLDER"""

import os
import struct
import sys

PAD, RECORD, PIECE, STRING, STACK, MAPPING, METADATA = range(1, 8)
LOST, UNMODELLED, CALL = 4, 6, 7 << 16 | 1
NO_STREAM = 0xFFFFFFFF
KEY = b"\x42" * 16  # whoever hands a piece over is believed


def entry(kind, body, flags=0):
    size = (8 + len(body) + 7) & ~7
    return (struct.pack("<IHH", size, kind, flags) + body).ljust(size, b"\0")


def record(key, type_=CALL, slots=(5, 1, 0, 8), data=bytes(8), stream=0, flags=0, begin=None):
    head = struct.pack("<QQIIIIQqHHI", key - 1 if begin is None else begin, key, type_, 77, stream, 1,
                       1, 0, flags, len(slots), len(data))
    return entry(RECORD, head + struct.pack("<%dQ" % len(slots), *slots) + data, flags=2)


def piece(data):
    return entry(PIECE, struct.pack("<II", len(data), 0) + KEY + data)


def blob(data):
    return struct.pack("<Q", len(data)) + KEY


def string(id_, text):
    return entry(STRING, struct.pack("<II", id_, len(text)) + text)


DEFINITIONS = [
    string(1, b"kernel"), entry(STACK, struct.pack("<IIQQ", 1, 2, 0x1000, 0x2000)),
    entry(MAPPING, struct.pack("<QQQII", 0x1000, 0x3000, 0, 5, 4) + b"/a.so"[:4] + b"\0" + b"1234"),
    entry(METADATA, struct.pack("<II", 2, 2) + b"a\0" + b"b\0"),
]


def lane(entries, inside=0, flushed=0, lost=0, head=None, position=0):
    ring = b"".join(entries)
    h = struct.pack("<QQQQQQII", len(ring) if head is None else head, 0, 50, 0, inside, 1, 77, 0)
    h += struct.pack("<QQQQQQ", 0, lost, 10, 20, 1, 0) + bytes(7 * 32)
    h = h.ljust(384, b"\0") + struct.pack("<QQQ", position, flushed, flushed)
    return h.ljust(416, b"\0") + struct.pack("<H", len(ring)) + ring


def lanes(*parts, records=0, cut=0, stopped=b""):
    head = b"TSLANES\n" + bytes(56) + struct.pack("<QQd", 1, 1000, 0.5) * 2
    head = head.ljust(112, b"\0") + struct.pack("<IIQQQ", 0, 0, records, records, cut)
    return head.ljust(240, b"\0") + b"".join(parts)


def seeds():
    data = bytes(range(200))
    first = lane(DEFINITIONS)
    named = record(12, slots=(1, 1, 8, 8 << 32 | 24), data=bytes(8) + blob(data))
    yield "empty", lanes()
    yield "records", lanes(first, lane([record(k) for k in range(10, 30, 2)]),
                           lane([record(k) for k in range(11, 31, 3)]))
    yield "pieces", lanes(first, lane([piece(data), named]), lane([named]))
    yield "unfinished", lanes(first, lane([record(9)], inside=CALL), lane([], inside=CALL | 3 << 32))
    yield "lost", lanes(first, lane([record(9)], lost=4), lane([]))
    yield "ring_mode", lanes(first, lane([record(k) for k in range(10, 30)]), lane([]), cut=20)
    yield "misfits", lanes(first, lane([record(9, slots=(1,)), record(10, type_=9 << 16),
                                        record(11, type_=UNMODELLED, slots=(1, 2), data=b""),
                                        record(12, type_=LOST, slots=(1, 2, 3, 1, 4), data=b"")]),
                           lane([entry(PAD, bytes(24)), record(40, stream=NO_STREAM)]))
    torn = lane([record(9), record(10), bytes(8), record(11)])
    yield "torn", lanes(first, torn, lane([record(12)]))
    yield "torn_definitions", lanes(lane([DEFINITIONS[0], bytes(16)]), torn, torn)
    yield "no_magic", b"\xff" + lanes(first, torn)[1:]
    yield "head_far_away", lanes(first, lane([record(9)], head=1 << 60), lane([record(9)], flushed=3))
    yield "empty_piece", lanes(first, lane([entry(PIECE, bytes(24)), record(9)]), lane([]))
    yield "missing", lanes(first, lane([record(9)]), lane([]), records=7)


def main():
    for name, data in seeds():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
