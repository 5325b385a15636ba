#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A redacted trace of each program holds none of the words and bytes that it was to lose, in no chunk, and
# is a sound trace with the same records at the same times, that is not replayed. One that is recorded
# without contents has none from the start.
. "$(dirname "$0")/util.sh"
secret=a-word-that-nobody-else-has
bytes=bytes-that-nobody-else-has
home=$work/home/$secret/deeper
mkdir -p "$home"
{ cat "$TEST_PROGRAMS"/kernels.ptx; echo "// $bytes"; } >"$home/kernels.ptx"
export TS_TEST_PTX=$home/kernels.ptx

# holds TRACE WORD: in a chunk of it, unpacked, or in what is shown of it
holds() {
    python3 - "$TEST_SOURCE/tests/decoder" "$@" <<'PYTHON' || tsview --json --stacks "$1" | grep -q -- "$2"
import sys
sys.path.insert(0, sys.argv[1])
import sbt
with open(sys.argv[2], "rb") as file:
    file.seek(64)
    while found := sbt.read_chunk(file, True):
        if sys.argv[3].encode() in found[1]:
            sys.exit(0)
sys.exit(1)
PYTHON
}

# shape TRACE: what stays
shape() {
    tsview --json "$1" | python3 -c '
import json, sys
for line in list(sys.stdin)[1:]:
    r = json.loads(line)
    print(r["seq"], r["time_ns"], r["thread"], r["stream"], r["position"], r["call"], r["result"],
          sorted((k, v) for k, v in r["args"].items() if type(v) == int))'
}

[ -n "${TS_TEST_ALL:-}" ] && more="pipeline managed linked virtual" || more=
for program in saxpy graphs $more; do
    record t.sbt $program >/dev/null || fail "$program cannot be recorded"
    holds t.sbt $secret && holds t.sbt $bytes || fail "$program: the words are not there to begin with"
    shape t.sbt >t.shape
    for what in contents,command,host,user,paths all paths,user command,names contents,values; do
        rm -f r.sbt
        status 0 tracesmith redact --remove=$what -o r.sbt t.sbt
        status 0 tracesmith check r.sbt
        shape r.sbt >r.shape
        cmp t.shape r.shape || fail "$program: other records without $what"
        case $what in
        all | *paths*) ! holds r.sbt $secret || fail "$program: a path is there without $what" ;;
        esac
        case $what in
        all | contents*)
            ! holds r.sbt $bytes || fail "$program: bytes are there without $what"
            status 2 replay r.sbt
            grep -q 'has no contents' err || fail "$(cat err)"
            ;;
        *names*) ;; # by which a replay finds functions
        *) status 0 replay r.sbt ;;
        esac
    done
    # What was found out stays found out: a second redaction adds to the first one.
    rm -f again.sbt
    status 0 tracesmith redact --remove=names -o again.sbt r.sbt
    tracesmith info --json again.sbt | grep -q '"redacted":"contents,names,values"' || fail "$(tracesmith info again.sbt)"
    status 2 tsdiff t.sbt again.sbt
    grep -q 'in the same way' err || fail "$(cat err)"
done

record t.sbt saxpy >/dev/null
for list in everything all,nothing contents, ,contents; do
    status 2 tracesmith redact --remove=$list -o x.sbt t.sbt
done
status 2 tracesmith redact t.sbt
status 2 tracesmith redact -o t.sbt t.sbt
status 0 replay t.sbt

# A chunk of records that cannot be read: no copy, unless the loss is accepted; then the copy says so.
python3 - <<'PYTHON'
import struct
data = bytearray(open("t.sbt", "rb").read())
at = struct.unpack_from("<I", data, 12)[0]
while struct.unpack_from("<H", data, at + 8)[0] != 8:
    at += 96 + struct.unpack_from("<I", data, at + 32)[0]
data[at + 120] ^= 1
open("damaged.sbt", "wb").write(data)
PYTHON
status 2 tracesmith redact -o x.sbt damaged.sbt
grep -q -- '--lossy' err || fail "$(cat err)"
[ ! -e x.sbt ] || fail "a copy is there, although a part cannot be read"
status 0 tracesmith redact --lossy -o x.sbt damaged.sbt
grep -q 'could not be read' out || fail "$(cat out)"
status 0 tracesmith check x.sbt
tsview --json x.sbt | head -1 | grep -q '"lost":0' && fail "the copy does not say what it lost"

TS_CONTENTS=0 record bare.sbt saxpy >/dev/null
status 0 tracesmith check bare.sbt
! holds bare.sbt $bytes || fail "recorded without contents, and the bytes are there"
status 2 replay bare.sbt
TS_CONTENTS=0 record other.sbt saxpy >/dev/null
status 0 tsdiff bare.sbt other.sbt
