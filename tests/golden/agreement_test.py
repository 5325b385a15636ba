#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reader, sbt_check() and the second decoder make the same of each changed trace.

    agreement_test.py PRINT_TRACE

Each field of the file header, of each chunk header, of the index and of the trailer is set to boundary values, with
checksums that fit; the same in traces of a later minor version. All three have to say "valid", "damaged" or
"refused", and the same number of records. Of bad/, too, but what is wrong in the content of a record, a table or a
piece the check alone need find. TS_TEST_ALL=1: each case; else every eighth one.
"""

import glob
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "decoder"))
import make_traces as make  # noqa: E402
import verdict  # noqa: E402
from xxh3 import hash64  # noqa: E402

PRINT = sys.argv[1]
SHARE = 1 if os.environ.get("TS_TEST_ALL") else 8
BATCH = 200
HEAD = (("type", 8, 2), ("flags", 10, 1), ("codec", 11, 1), ("number", 12, 4), ("session", 16, 4),
        ("stream end", 20, 4), ("count", 24, 4), ("raw size", 28, 4), ("stored size", 32, 4), ("reserved", 36, 4),
        ("first", 40, 8), ("last", 48, 8), ("first time", 56, 8), ("last time", 64, 8), ("streams", 72, 8),
        ("payload hash", 80, 8))
ENTRY = (("offset", 0, 8), *((name, at, size) for name, at, size in HEAD))  # bytes 8 to 87 of the header, at 8
TRAILER = (("end", 0, 4), ("chunks", 4, 4), ("records", 8, 8), ("lost", 16, 8), ("filtered", 24, 8),
           ("tainted", 32, 8), ("streams", 40, 4), ("root size", 44, 4), ("root", 48, 8), ("size", 56, 8),
           ("reserved", 64, 8), ("own size", -12, 4), ("magic", -8, 8))
FILE = (("magic", 0, 8), ("major", 8, 2), ("minor", 10, 2), ("length", 12, 4), ("required", 16, 8),
        ("optional", 24, 8), ("session", 32, 8), ("reserved", 48, 8))


def values(old, size):
    top = (1 << 8 * size) - 1
    near = {0, 1, 2, 3, 8, 9, 13, 14, 17, 18, 255, 4096, 65536, 1 << 26, 1 << 31, 1 << 63, top, top - 1,
            old - 1, old + 1, old ^ 1, old ^ 2, old ^ 4, old * 2, old + 96, old ^ 1 << 8 * size - 1}
    return sorted(v for v in near if 0 <= v <= top and v != old)


def chunks(data):
    at, found = struct.unpack_from("<I", data, 12)[0], []
    while at < len(data):
        size = 96 + struct.unpack_from("<I", data, at + 32)[0]
        found.append((at, size, struct.unpack_from("<H", data, at + 8)[0]))
        at += size
    return found


def sealed(data, at, keep_payload_hash=False):
    """With the checksums of the chunk at `at` made right."""
    stored = struct.unpack_from("<I", data, at + 32)[0]
    if not keep_payload_hash and at + 96 + stored <= len(data):
        struct.pack_into("<Q", data, at + 80, hash64(bytes(data[at + 96:at + 96 + stored])))
    struct.pack_into("<Q", data, at + 88, hash64(bytes(data[at:at + 88])))
    return bytes(data)


def changes(data, at, fields):
    """Copies with a field of those at `at` changed: (name, value, bytes)."""
    for name, place, size in fields:
        place += at
        old = int.from_bytes(data[place:place + size], "little")
        for value in values(old, size):
            copy = bytearray(data)
            copy[place:place + size] = value.to_bytes(size, "little")
            yield name, value, copy


def mutations(data):
    head = struct.unpack_from("<I", data, 12)[0]
    for name, value, copy in changes(data, 0, FILE):
        struct.pack_into("<Q", copy, head - 8, hash64(bytes(copy[:head - 8])))
        yield f"file header: {name} {value:#x}", bytes(copy)
    for at, size, kind in chunks(data):
        for name, value, copy in changes(data, at, HEAD):
            yield f"chunk of type {kind} at {at}: {name} {value:#x}", sealed(copy, at, True)
        if kind == make.INDEX:
            for name, value, copy in changes(data, at + 96, (("kind", 0, 4), ("entries", 4, 4))):
                yield f"index at {at}: {name} {value:#x}", sealed(copy, at)
            for entry in range(at + 104, at + size, 88):
                for name, value, copy in changes(data, entry, ENTRY):
                    yield f"index at {at}: entry at {entry}: {name} {value:#x}", sealed(copy, at)
        if kind == make.TRAILER:
            fields = tuple((n, p if p >= 0 else size - 96 + p, s) for n, p, s in TRAILER)
            for name, value, copy in changes(data, at + 96, fields):
                yield f"trailer: {name} {value:#x}", sealed(copy, at)


def newer(flags):
    """Of minor version 1: a chunk type, flags, a field type, a common column, a record flag that are new."""
    t = make.Trace(minor=1).metadata(kind="newer")
    t.table(make.SCHEMA, [make.schema(0x10001, "call", [("s", 13, ""), ("new", 40, "detail")], kind=60, flags=0x100)])
    t.table(make.STRINGS, [make.item(struct.pack("<I", 1), make.text("one"), b"more")], (1, 1))
    t.chunk(99, b"what is this", 1, flags=flags)
    payload, count = make.events([(0x10001, [[1, 7], [0, 8]], [b"", b""])], common=11)
    t.events(payload, count)
    t.chunk(40, b"", 0, flags=flags)
    t.events(*make.events([(0x10001, [[1, 7]], [b""])]))
    return t.finish()


def samples():
    t = make.Trace().metadata(kind="mutated")
    t.table(make.SCHEMA, [make.schema(0x10001, "call", [("s", 13, "")])])
    t.table(make.STRINGS, [make.item(struct.pack("<I", 1), make.text("one"))], (1, 1))
    for _ in range(2):
        t.events(*make.events([(0x10001, [[1], [0]], [b"", b""])]))
    yield "plain", t.finish()
    yield "newer", newer(0)
    yield "newer, flags", newer(0xf8)
    yield "newer, critical", newer(1)
    for name in ("values", "checkpoint", "newer_all", "newer_minor"):
        with open(os.path.join(HERE, name + ".sbt"), "rb") as file:
            yield name, file.read()


def judge(folder, batch):
    paths = []
    for number, (_, data) in enumerate(batch):
        paths.append(os.path.join(folder, "%d.sbt" % number))
        with open(paths[-1], "wb") as file:
            file.write(data)
    done = subprocess.run([PRINT, "verdict", *paths], capture_output=True, text=True, check=False, timeout=600)
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(batch):
        print(f"print_trace ended with {done.returncode} at {batch[len(lines)][0]}: {done.stderr[-2000:]}")
        return len(batch)
    failures = 0
    for (name, data), line in zip(batch, lines):
        reader, records, check, checked, *first = line.split(" ", 4)
        what, count, why = verdict.verdict(data)
        if what == "refused":
            count = 0
        same = reader == check == what
        if name.endswith(".sbt"):  # what is wrong is in a record, a table or a piece: only the check looks at all
            same = same or check == "damaged" and "refused" not in (reader, what)
        if not (same and int(records) == int(checked) == count):
            failures += 1
            print(f"{name}: reader {reader} {records}, check {check} {checked} {first}, "
                  f"second decoder {what} {count} {why[:3]}")
    return failures


def main():
    failures = number = total = 0
    with tempfile.TemporaryDirectory(prefix="ts-agreement-") as folder:
        batch = []
        for name, data in samples():
            batch.append((name, data))
            for what, changed in mutations(data):
                number += 1
                if number % SHARE == 0:
                    batch.append((f"{name}: {what}", changed))
                if len(batch) >= BATCH:
                    total += len(batch)
                    failures += judge(folder, batch)
                    batch = []
        for path in sorted(glob.glob(os.path.join(HERE, "bad", "*.sbt"))):
            with open(path, "rb") as file:
                batch.append((os.path.basename(path), file.read()))
        failures += judge(folder, batch)
        total += len(batch)
    print(f"{total} files, {failures} of which they do not agree on")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
