#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program says by labels of NVTX is in its trace, whatever it is, and the program does not notice. Ranges can be named
# by labels, and Nsight Systems' tables have them.
. "$(dirname "$0")/../util.sh"
tool=$(dirname "$TEST_CAPTURE")/shim/libts_nvtx.so

marks() {
    tsview --json --calls=mark "$1" | python3 -c 'import json, sys
numbers = {}
for line in sys.stdin:
    r = json.loads(line)
    if "call" not in r:
        continue
    a = r["args"]
    nest = a["id"] if a["id"] < 2**52 else "nest%d" % numbers.setdefault(a["id"], len(numbers))
    print(a["name"], a["phase"], nest, a["domain"], a["category"], a["category_name"], a["color"], a["payload_type"], a["payload"])'
}

sandbox=sandbox fork=fork signal=signal
[ -z "${TEST_SANITIZED:-}" ] || sandbox=
# TSan ends children of programs with threads that begin one, and recordings that a handler begins.
[ "${TEST_SANITIZED:-}" != thread ] || fork= signal=
for what in work facts wrong threads many $fork exec $signal $sandbox; do
    TEST_ATTACHED=0 plain nvtx_labels $what >plain.out 2>plain.err || fail "$what: not even without us: $(cat plain.err)"
    TEST_ATTACHED=1 record $what.sbt nvtx_labels $what >record.out 2>record.err || fail "$what: $(cat record.err)"
    cmp plain.out record.out && cmp plain.err record.err || fail "$what: another output"
    tracesmith check $what.sbt >out || fail "$what: $(cat out)"
done

# All that a label can say.
marks facts.sbt >got
cat >expected <<'M'
registered 1 nest0 dömain 😀 7 seven 0xff00ff80 none 0x0
registered 0 0 None 8 None 0xff00ff80 none 0x0
registered 0 0 None 7 seven of no domain 0xff00ff80 none 0x0
payload 0 nest0 dömain 😀 0 None 0x0 uint64 0xffffffffffffffff
payload 0 nest0 dömain 😀 0 None 0x0 int64 0xfffffffffffffffb
payload 0 nest0 dömain 😀 0 None 0x0 double 0x3ff8000000000000
payload 0 nest0 dömain 😀 0 None 0x0 uint32 0xffffffff
payload 0 nest0 dömain 😀 0 None 0x0 int32 0xfffffffb
payload 0 nest0 dömain 😀 0 None 0x0 float 0x40200000
None 2 nest0 None 0 None 0x0 none 0x0
wide é 1 0 None 0 None 0x0 none 0x0
􏿿� 0 0 None 0 None 0x0 none 0x0
None 2 0 None 0 None 0x0 none 0x0
registered 1 4294967297 dömain 😀 7 seven 0xff00ff80 none 0x0
None 2 4294967297 None 0 None 0x0 none 0x0
M
cmp got expected || fail "facts: $(cat got)"
tsview --calls=thread facts.sbt >out
grep -q '"named thread"' out || fail "no name of the thread: $(cat out)"
! grep -q 'somebody' out || fail "another thread's name"
cmp facts.sbt exec.sbt >/dev/null || marks exec.sbt | cmp - expected || fail "the executed program has other labels"

# No handle and no size leads astray; long texts are whole.
tsview --json --calls=mark wrong.sbt >out
[ "$(grep -c '"call":"mark"' out)" = 60 ] || fail "$(grep -c '"call":"mark"' out) labels of mistakes"
python3 - <<'P' || fail "long texts"
import json
texts = [json.loads(line)["args"]["name"] or "" for line in open("out") if '"call"' in line]
assert "".join(chr(97 + i % 26) for i in range(100000)) in texts
assert "€x" * 50000 in texts
assert texts.count("sized") == 1, texts.count("sized")
P
! grep -q 'in no domain' out || fail "a label in a domain that is none"

# More than there is room for is said, and programs go on.
tsview --calls=unmodelled many.sbt >out
grep -q 'more names and registered strings of NVTX' out || fail "nobody said that texts are left out: $(cat out)"
grep -q 'more domains of NVTX' out || fail "nobody said that domains are left out: $(cat out)"
grep -q 'more categories of NVTX' out || fail "nobody said that categories are left out: $(cat out)"
tsview --json --calls=mark many.sbt | grep -q '"domain":"(more domains)"' || fail "no label in a domain that found no room"
[ "$(tsview --json --calls=mark threads.sbt | grep -c '"call":"mark"')" = $((256 * 801)) ] || fail "labels of threads are missing"

# A forked child has a trace of its own, with what it said.
[ -z "$fork" ] || [ "$(marks fork.sbt | cut -d' ' -f1-3 | tr '\n' ,)" = 'parent 1 0,None 2 0,' ] || fail "parent: $(marks fork.sbt)"
[ -z "$fork" ] || [ "$(marks fork.1.sbt | cut -d' ' -f1-3 | tr '\n' ,)" = 'child 1 0,None 2 0,' ] || fail "child: $(marks fork.1.sbt)"
[ -z "$signal" ] || [ "$(marks signal.sbt | grep -c 'in a handler')" = 2000 ] || fail "labels of handlers are missing"

# Where system calls are forbidden recording is over, and nothing of ours makes any.
[ -z "$sandbox" ] || [ "$(marks sandbox.sbt | cut -d' ' -f1-2)" = 'before 1' ] || fail "sandbox: $(marks sandbox.sbt)"

# Who is not to be recorded has no tool, and no library of ours.
TEST_ATTACHED=0 TS_CAPTURE=0 record none.sbt nvtx_labels work >/dev/null || fail "TS_CAPTURE=0"
TEST_ATTACHED=0 TS_APIS=vulkan record none.sbt nvtx_labels facts >/dev/null || fail "TS_APIS=vulkan"
[ ! -e none.sbt ] || fail "a trace of nothing"
TEST_ATTACHED=1 TS_APIS=nvtx record nvtx.sbt nvtx_labels work >/dev/null || fail "TS_APIS=nvtx"
[ "$(tsview --json nvtx.sbt | grep -c '"api":"cuda"')" = 0 ] || fail "TS_APIS=nvtx records CUDA"
# (A sanitizer's runtime would have to come first there.)
[ -n "${TEST_SANITIZED:-}" ] || NVTX_INJECTION64_PATH=$tool TEST_ATTACHED=0 plain nvtx_labels work >/dev/null ||
    fail "a child without LD_PRELOAD"

# Another tool's variable is left alone.
NVTX_INJECTION64_PATH=/none/tool.so TEST_ATTACHED=0 record other.sbt nvtx_labels work >/dev/null || fail "another tool"
tracesmith info other.sbt | grep -q 'nvtx.tool *\/none\/tool.so' || fail "the trace does not name the other tool"

# A label that is made before the recorder is initialised.
[ -n "${TEST_SANITIZED:-}" ] || {
    LD_PRELOAD=$TEST_PROGRAMS/libnvtx_early.so tsrecord -q -o early.sbt -- "$TEST_PROGRAMS/nvtx_labels" facts >/dev/null
    marks early.sbt >got
    [ "$(head -n 2 got | cut -d' ' -f1,2 | tr '\n' ,)" = 'early 1,None 2,' ] || fail "early: $(cat got)"
}

# A late start: what was named before counts.
TS_START_CALL=9 record late.sbt nvtx_labels work >/dev/null 2>&1 || fail "a late start"
marks late.sbt >out
grep -q '^crossing 1 nest[0-9]* library' out && ! grep -q '^across' out || fail "late start: $(cat out)"

# Of what the labels go around.
for label in across:7 outer:7 inner:1 first:1 crossing:3 elsewhere:1 'elsewhere in a domain:1'; do
    got=$(tsview --range "label:${label%:*}" --calls=cuLaunchKernel work.sbt | grep -c cuLaunchKernel || :)
    [ "$got" = "${label##*:}" ] || fail "$got launches in label $label"
done
[ -z "${TEST_SANITIZED:-}" ] || exit 0
TS_CHECKSUM=command record sums.sbt nvtx_labels work >/dev/null
status 0 replay --range label:inner sums.sbt
grep -q 'all 1 checksums equal' out || fail "not compared: $(cat out)"
status 0 tracesmith trim --device emu --range label:crossing -o part.sbt sums.sbt
status 0 replay part.sbt
grep -q 'all 3 checksums equal' out || fail "not compared: $(cat out)"
[ "$(tsview --calls=cuLaunchKernel part.sbt | grep -c cuLaunchKernel)" = 3 ] || fail "another part"
TEST_ATTACHED=1 TS_GPU_TIME=1 record timed.sbt nvtx_labels work >/dev/null
tracesmith stats --json --by label --section kernels timed.sbt >out
python3 - <<'P' || fail "stats by label: $(cat out)"
import json
got = {row["label"]: row["count"] for row in json.load(open("out"))["kernels"]}
# In `across` alone: the first one. In `outer`: the second, and the one after the thread.
assert got == {"across": 1, "outer": 2, "inner": 1, "crossing": 3, "elsewhere in a domain": 1, None: 1}, got
P

tracesmith export sqlite -o timed.sqlite timed.sbt 2>err || fail "export: $(cat err)"
tracesmith export sqlite -o facts.sqlite facts.sbt 2>err || fail "export: $(cat err)"
python3 - <<'P' || fail "NVTX_EVENTS"
import sqlite3
def rows(file, columns):
    return sqlite3.connect(file).execute(f"SELECT {columns} FROM NVTX_EVENTS ORDER BY rowid").fetchall()
got = sorted(rows("timed.sqlite", "text, eventType, domainId, rangeId, end IS NULL"))
assert got == sorted([
    ("library", 75, 1, None, 1), ("point", 34, 0, None, 1), ("inner", 59, 0, None, 0), ("first", 59, 0, None, 0),
    ("crossing", 59, 1, None, 0), ("elsewhere", 59, 0, None, 0), ("elsewhere in a domain", 59, 1, None, 0),
    ("across", 60, 0, 2**32 + 1, 0), ("outer", 59, 0, None, 0)]), got
got = rows("facts.sqlite", "text, eventType, domainId, category, color, uint64Value, int64Value, doubleValue, "
           "uint32Value, int32Value, floatValue")
nothing = (None,) * 6
def payload(*values):
    return ("payload", 34, 1, None, None) + values
assert got == [
    ("dömain 😀", 75, 1, None, None) + nothing, ("seven", 33, 1, 7, None) + nothing,
    ("registered", 34, 0, 8, 0xff00ff80) + nothing, ("seven of no domain", 33, 0, 7, None) + nothing,
    ("registered", 34, 0, 7, 0xff00ff80) + nothing,
    payload(-1, None, None, None, None, None), payload(None, -5, None, None, None, None),
    payload(None, None, 1.5, None, None, None), payload(None, None, None, 2**32 - 1, None, None),
    payload(None, None, None, None, -5, None), payload(None, None, None, None, None, 2.5),
    ("registered", 59, 1, 7, 0xff00ff80) + nothing, ("\U0010ffff\ufffd", 34, 0, None, None) + nothing,
    ("wide é", 59, 0, None, None) + nothing, ("registered", 60, 1, 7, 0xff00ff80) + nothing], got
P
tracesmith merge --perfetto=- work.sbt >perfetto.json 2>err || fail "merge: $(cat err)"
python3 - <<'P' || fail "the time line"
import json
events = [e for e in json.load(open("perfetto.json"))["traceEvents"] if e.get("cat") == "label"]
assert [(e["ph"], e["args"]) for e in events if e["name"] == "crossing"] == [("b", {"domain": "library"})]
crossing = [e["id"] for e in events if e["name"] == "crossing"]
assert [e["ph"] for e in events if e.get("id") in crossing] == ["b", "e"]
P
