#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that reads a trace, of traces that an enemy made.

usage: hostile.py BUILD_FOLDER damage|prefix|escapes|bombs

damage   each chunk of each sample damaged in each way: a status of its own, no crash, JSON that is JSON; a trim
         or a redaction that says it worked has made a trace that keeps the rules
prefix   samples cut near each border of a chunk, and anywhere: the same, and an end
escapes  every text holds control characters, and some that turn the order of others round: none comes out, in
         text or (but for the order) in JSON
bombs    a few KB that unpack to millions of records, or to large values, are refused, unless --patient is given
"""

import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../golden", "../e2e", "../decoder"):
    sys.path.insert(0, os.path.join(HERE, folder))
import make_traces as make  # noqa: E402
from damage_chunks import chunks  # noqa: E402
from xxh3 import hash64  # noqa: E402

TOOL = os.path.join(os.path.abspath(sys.argv[1]), "tools", "tracesmith")
ALL = bool(os.environ.get("TS_TEST_ALL"))
SHARE = 32  # without it one command of so many is asked, of each file another one
SECONDS = 60  # a hang is longer; the machine may be busy
SAMPLES = ("values", "structs", "compact", "checkpoint", "newer_minor", "sample")
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": os.path.join(os.path.abspath(sys.argv[1]), "emu"),
               "ASAN_OPTIONS": "detect_leaks=0:exitcode=99", "UBSAN_OPTIONS": "halt_on_error=1:exitcode=98"}
failures = 0
files = 0


def fail(*words):
    global failures
    failures += 1
    print(*words, flush=True)


def commands(trace, whole):
    """What there is to ask of `trace`; what it writes is beside it."""
    views = ([], ["--stacks"], ["--tree"], ["--kernel"])
    yield from (["view", *how, trace] for how in views)
    for name in ("view", "info", "streams", "check", "coverage", "shaders", "code", "merge"):
        yield [name, "--json", trace]
    for name in ("info", "streams", "check", "coverage", "shaders", "merge"):
        yield [name, trace]
    for how in ([], ["--json", "--by=grid,stream,thread,label,site"], ["--csv", "--section=sites"], ["--markdown", "--by=label"]):
        yield ["stats", *how, trace]
    yield ["stats", "--compare", whole, trace]
    yield ["clocks", trace]
    yield ["clocks", "--json", trace]
    yield ["graph", "--why=5", trace]
    yield ["graph", "--dot", trace]
    yield ["graph", "--hang", trace]
    yield ["graph", "--hang", "--json", trace]
    yield ["view", "--states", trace]
    yield ["critical", "--list", "--slack", "--memory", "--stacks", trace]
    yield ["whatif", "--times", "--drop-all-waits", trace]
    yield ["whatif", "--order", trace]
    yield ["whatif", "--streams=3", "--times", trace]
    yield ["graph", "--memory", "--json", trace]
    yield ["graph", "--slice=5", trace]
    yield ["stream", "--code", "0", trace]
    yield ["export", "folded", trace]
    yield ["export", "speedscope", trace]
    yield ["export", "pprof", "--force", "-o", "part.pb", trace]
    yield ["export", "sqlite", "--states", "--force", "-o", "part.sqlite", trace]
    yield ["export", "perfetto", "--states", "--force", "-o", "part.pftrace", trace]
    yield ["export", "chrome", trace]
    yield ["export", "csv", trace]
    yield ["ioctls", "--trace", trace]
    yield ["ioctls", "--trace", "-c", trace]
    yield ["merge", "--perfetto=perfetto.json", trace]
    yield ["shaders", trace, "-o", "shaders"]
    yield ["code", "--disassemble", "--extract", "shaders", trace]
    yield ["code", "--kernel=*a*", trace]
    yield ["grtrace", "report", trace]
    yield ["grtrace", "report", "--json", trace]
    yield ["diff", whole, trace]
    yield ["diff", "--json", trace, whole]
    for options in (["--dry-run"], ["--lossy"], ["--json", "--lossy"], ["--range", "1:", "--lossy"]):
        yield ["replay", "--device", "emu", "--timeout", "5", *options, trace]
    for options in ([], ["--lossy"], ["--lossy", "--keep-going", "--range", "1:3"], ["--lossy", "--whole", "--range", "1:"]):
        where = [] if "--range" in options else ["--range", "0:100000000"]
        yield ["trim", "--device", "emu", "--timeout", "5", *options, *where, "-o", "part.sbt", trace]
    for options in ([], ["--lossy"], ["--lossy", "--remove=all"], ["--lossy", "--remove=paths,user"]):
        yield ["redact", *options, "-o", "part.sbt", trace]
    yield ["view", "--repair", "mended.sbt"]


def run(words):
    try:
        done = subprocess.run([TOOL, *words], capture_output=True, env=ENVIRONMENT, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done


def check_json(what, done):
    """Whatever came out by then is whole objects, and at least one."""
    if not done.stdout.strip():
        fail(what, "no object", done.returncode, done.stderr[-200:])
    try:
        for line in done.stdout.decode("utf-8").split("\n"):
            json.loads(line or "null")
    except ValueError as error:
        fail(what, "no JSON:", error, done.stdout[-200:])


def ask(trace, what, whole, share=SHARE):
    """Of each command, or one of `share`; returns what they said."""
    global files
    files += 1
    for number, words in enumerate(commands(trace, whole)):
        if not ALL and (number + files) % share:
            continue
        shutil.rmtree("shaders", ignore_errors=True)
        pathlib.Path("part.sbt").unlink(missing_ok=True)
        shutil.copy(trace, "mended.sbt")
        done = run(words)
        name = f"{what}: {' '.join(words)}:"
        if not done:
            fail(name, "it does not end")
            continue
        if done.returncode not in range(4):
            fail(name, done.returncode, done.stderr[-600:].decode("utf-8", "replace"))
        if "--json" in words:
            check_json(name, done)
        if words[0] in ("trim", "redact") and done.returncode == 0:
            kept = run(["check", "part.sbt"])
            if kept is None or kept.returncode != 0:
                fail(name, "its trace breaks rules:", kept and kept.stdout[-300:])
        yield name, done


def resigned(data, at, size, place):
    """The payload's byte changed, and both hashes right again."""
    payload = bytearray(data[at + 96:at + size])
    payload[place] ^= 1 << place % 8
    head = data[at:at + 80] + struct.pack("<Q", hash64(bytes(payload)))
    return data[:at] + head + struct.pack("<Q", hash64(head)) + bytes(payload) + data[at + size:]


def damaged(data, at, size, rng):
    yield "header", data[:at + 30] + bytes([data[at + 30] ^ 8]) + data[at + 31:]
    yield "removed", data[:at] + data[at + size:]
    yield "twice", data[:at + size] + data[at:at + size] + data[at + size:]
    yield "zeros", data[:at + 96] + bytes(size - 96) + data[at + size:]
    for _ in range(2 if size > 96 else 0):
        yield "changed", resigned(data, at, size, rng.randrange(size - 96))


def test_damage(name, data, whole):
    rng = random.Random(name)
    for at, size, kind in chunks(data):
        for way, bad in damaged(data, at, size, rng):
            pathlib.Path("bad.sbt").write_bytes(bad)
            for told, done in ask("bad.sbt", f"{name}, chunk at {at} of type {kind}, {way}", whole):
                # One broken chunk is one line, and one for all that names or counts what it held.
                if " check " in told + " " and way in ("header", "zeros") and done.stdout.count(b"\n") > 3:
                    fail(told, f"too many lines of one broken chunk: {done.stdout}")


def test_prefix(name, data, whole):
    rng = random.Random(name)
    places = {at + more for at, _, _ in chunks(data)[::3] for more in (-1, 0, 97)}
    places |= {rng.randrange(len(data)) for _ in range(8)}
    for place in sorted(places):
        pathlib.Path("bad.sbt").write_bytes(data[:place])
        for told, done in ask("bad.sbt", f"{name}, {place} bytes of {len(data)}", whole):
            if done.returncode == 0 and " check " in told + " ":
                fail(told, "content")


# ---- texts -----------------------------------------------------------------------------------

EVIL = "\x1b]0;evil\x07\x1b[2J\r\x7f\u009b31m\t\\\"\n\u202e\u2066\u200f\u061c\u2028"
ORDER = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def evil(text):
    return EVIL + text


def evil_trace(types):
    """Each text that a trace can hold: calls of the types, and core records that tools print."""
    t = make.Trace()
    t.chunk(make.METADATA, b"".join(make.item(make.text(k), make.text(v)) for k, v in (
        (evil("name"), evil("value")), ("process.name", evil("x")), ("cpu.collector", EVIL), ("kernel.stats", EVIL),
        ("kernel.latency_hist", EVIL), ("settings", EVIL), ("host.release", EVIL), ("driver", EVIL))), 8)
    fields = [(evil("s"), 13, ""), (evil("e"), 11, evil("table")), (evil("f"), 12, evil("table")),
              (evil("h"), 7, evil("type")), (evil("v"), 16, evil("struct"))]
    schemas = [make.schema(type_, evil("call%x" % type_), fields, kind=5, result=evil("table"), flags=2)
               for type_ in types]
    core = [(5, "stopped", 1), (6, "unmodelled", 2), (7, "mark", 3), (8, "thread", 1), (9, "fork", 2), (10, "exec", 1)]
    schemas += [make.schema(call, name, [("n%d" % i, 1 if call == 9 and i == 0 or i > 0 and call != 9 else 13, "")
                                         for i in range(count)]) for call, name, count in core]
    t.table(make.SCHEMA, schemas)
    t.table(make.ENUMS, [make.item(struct.pack("<I", 1), make.text(evil("table")), struct.pack("<q", 0),
                                   make.text(evil("zero")))])
    t.table(make.STRUCTS, [make.struct_item(0x10001, evil("struct"), [(evil("m"), 14, 0, ""), (evil("t"), 13, 0, "")])])
    t.table(make.STRINGS, [make.item(struct.pack("<I", 1), make.text(evil("string")))], (1, 1))
    t.table(make.STACKS, [make.item(struct.pack("<IQ", 1, 4096))], (1, 1))
    t.table(make.MAPPINGS, [make.item(struct.pack("<QQQ", 0, 65536, 0), make.text(evil("path")), struct.pack("<I", 0))])
    value = b"\0" + make.varint(2) + b"\x1b" + make.varint(1 + len(EVIL.encode())) + EVIL.encode()
    groups = [(type_, [[1, 0, 0, 1, len(value)]], [value]) for type_ in types]
    groups += [(call, [[1] * count], [b""]) for call, _, count in core]
    t.events(*make.events(groups), notable=1)
    return t.finish()


def show_controls(text, is_json):
    """JSON is for programs: there only what ends a line or a text is escaped."""
    return sorted({c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or (c in ORDER and not is_json)})


def test_escapes():
    types = [api << 16 | call for api in (1, 2, 3, 4, 5) for call in (1, 2, 40)]
    whole = "evil.sbt"
    for kinds in (types, *([type_] for type_ in types)):
        data = evil_trace(kinds)
        pathlib.Path(whole).write_bytes(data)
        pathlib.Path("bad.sbt").write_bytes(data[:-300])
        for trace in (whole, "bad.sbt"):
            for name, done in ask(trace, "escapes", whole, 1 if kinds is types else SHARE):
                for text in (done.stdout, done.stderr):
                    found = show_controls(text.decode("utf-8", "replace"), text is done.stdout and "--json" in name)
                    if found:
                        at = min(text.index(c.encode()) for c in found)
                        fail(name, "control characters", found, text[max(0, at - 100):at + 60])


def squeezed(parts):
    """A zstd frame; each part is bytes, or how many zeros."""
    size = sum(part if isinstance(part, int) else len(part) for part in parts)
    out = bytes.fromhex("28b52ffda0") + struct.pack("<I", size)
    for number, part in enumerate(parts):
        is_run = isinstance(part, int)
        head = (number == len(parts) - 1) | is_run << 1 | (part if is_run else len(part)) << 3
        out += struct.pack("<I", head)[:3] + (b"\0" if is_run else part)
    return out, size


def value_bomb(count):
    """Records of one value of 32 MiB each, all in the same blob: its first piece, then pieces of zeros."""
    t = make.Trace().metadata(kind="bomb")
    t.table(make.STRUCTS, [make.struct_item(0x10001, "s", [("list", 1, 1, "")])])
    t.table(make.SCHEMA, [make.schema(0x10001, "call", [("value", 16, "s")], kind=5)])
    first = make.varint((32 << 20) - 3)
    key = bytes.fromhex("b9a42ba9379b86d99a6f64e9b54825ad")
    listed = key + struct.pack("<I", 65536)
    payload, raw = squeezed([first, 65536 - len(first), listed])
    t.chunk(make.BLOBS, payload, 1, codec=1, raw=raw)
    blobs = t.number - 1
    reference = b"\1" + struct.pack("<Q", 32 << 20) + key
    size = len(reference) + 16 * 511
    rows = struct.pack("<IIIIII", 1, 9, 0x10001, 1, count, count * size) + make.constant(0) * 9
    rows += make.constant(size) * 2
    # In the order of the columns: group to stack, then sizes of data and the slot.
    payload, raw = squeezed([rows] + [reference, 16 * 511] * count)
    t.chunk(make.EVENTS, payload, count, codec=1, raw=raw, stream=(1, 1), seq=(0, count - 1))
    t.records = count
    t.chunk(make.PIECES, struct.pack("<II", blobs, 1) + listed, 1)
    return t.finish()


def test_values():
    pathlib.Path("value.sbt").write_bytes(value_bomb(1))
    done = run(["check", "value.sbt"])
    if not done or done.returncode != 0:
        fail("one large value:", done)
    pathlib.Path("values.sbt").write_bytes(value_bomb(100))
    for words in (["check"], ["view"], ["diff", "values.sbt"]):
        done = run([*words, "values.sbt"])
        if not done or done.returncode != 2 or b"--patient" not in done.stderr:
            fail("bomb of values:", *words, done and (done.returncode, done.stderr[-300:]))


def test_bombs():
    test_values()
    count = 1 << 20
    t = make.Trace().metadata(kind="bomb")
    t.table(make.SCHEMA, [make.schema(0x10001, "call", [])])
    rows = struct.pack("<IIIIII", 1, 9, 0x10001, 0, count, 0) + make.constant(0) * 10
    for _ in range(8):
        t.events(rows, count, time=(0, 0), seq=(t.records, t.records + count - 1))
    pathlib.Path("bomb.sbt").write_bytes(t.finish())
    # A larger file may unpack to more, but has not many times as many records as bytes.
    t = make.Trace().metadata(kind="bomb")
    t.table(make.SCHEMA, [make.schema(0x10001, "call", [])])
    for i in range(8):
        t.table(make.STRINGS, [make.item(struct.pack("<I", i + 1), make.text(random.Random(i).randbytes(32000).hex()))],
                (i + 1, i + 1))
    for _ in range(6):
        t.events(rows, count, time=(0, 0), seq=(t.records, t.records + count - 1))
    pathlib.Path("records.sbt").write_bytes(t.finish())
    for words in (["check"], ["info"]):
        done = run([*words, "records.sbt"])
        if not done or done.returncode != 2 or b"records or more" not in done.stderr or b"--patient" not in done.stderr:
            fail("bomb of records:", *words, done)
    # Slots that no header counts, each of which breaks a rule.
    count = (64 << 20) // (64 + 8 * 64)
    t = make.Trace().metadata(kind="bomb")
    t.table(make.SCHEMA, [make.schema(0x10001, "call", [(f"s{i}", 13, "") for i in range(64)])])
    rows = struct.pack("<IIIIII", 1, 9, 0x10001, 64, count, 0) + make.constant(0) * 10 + make.constant(1) * 64
    for _ in range(30):
        t.events(rows, count, time=(0, 0), seq=(t.records, t.records + count - 1))
    pathlib.Path("slots.sbt").write_bytes(t.finish())
    done = run(["check", "slots.sbt"])
    if not done or done.returncode != 2 or b"--patient" not in done.stderr:
        fail("bomb of slots:", done)
    for words in (["check"], ["view"], ["info"], ["diff", "bomb.sbt"], ["replay", "--dry-run"],
                  ["trim", "--range", "0:9", "-o", "part.sbt"]):
        done = run([*words, "bomb.sbt"])
        if not done or done.returncode != 2 or b"--patient" not in done.stderr:
            fail("bomb:", *words, done)
    done = run(["info", "--patient", "bomb.sbt"])
    if not done or done.returncode != 0:
        fail("bomb: --patient", done)


def main():
    mode = sys.argv[2]
    golden = os.path.abspath(os.path.join(HERE, "../golden"))
    with tempfile.TemporaryDirectory(prefix="ts-hostile-") as folder:
        os.chdir(folder)
        if mode == "escapes":
            test_escapes()
        if mode == "bombs":
            test_bombs()
        for name in SAMPLES if mode in ("damage", "prefix") else ():
            whole = os.path.join(golden, name + ".sbt")
            data = pathlib.Path(whole).read_bytes()
            (test_damage if mode == "damage" else test_prefix)(name, data, whole)
        os.chdir("/")
    return 1 if failures else 0


sys.exit(main())
