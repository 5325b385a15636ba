# SPDX-License-Identifier: Apache-2.0
# Sourced by the end-to-end tests. Meson sets TEST_BIN (the folder of the tools), TEST_CAPTURE (the
# preload library), TEST_EMU (the folder of the software GPU) and TEST_PROGRAMS.
#
# A test runs in a folder of its own, which is kept when it fails.
set -eu

name=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/ts-$name.XXXXXX")
cd "$work"
finish() {
    status=$?
    if [ $status = 0 ] || [ $status = 77 ]; then
        rm -rf "$work"
    else
        echo "FAILED: $name (files: $work)" >&2
    fi
}
trap finish EXIT

PATH=$TEST_BIN:$PATH
export PATH
export TS_TEST_PTX=$TEST_PROGRAMS/kernels.ptx
# What is preloaded. A sanitizer's runtime has to come first: TEST_RUNTIME names it, where this can be
# done. Leaks are the program's business, and what it leaves when it ends is not ours to judge.
preload=$TEST_CAPTURE
if [ -n "${TEST_SANITIZED:-}" ]; then
    [ -n "${TEST_RUNTIME:-}" ] || exit 77
    preload="$TEST_RUNTIME $TEST_CAPTURE"
    export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
    export TSAN_OPTIONS=halt_on_error=1:abort_on_error=1:suppressions=$TEST_SOURCE/tests/e2e/tsan.supp
    export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
fi

fail() {
    echo "$*" >&2
    exit 1
}

# chosen N: tests whether to try this one of many similar cases: one in 2N + 1, or with TS_TEST_ALL each. Where loops
# cross, an N for which that has no factor of the inner loop's length has something of everything.
case_count=0
chosen() {
    case_count=$((case_count + 1))
    [ -n "${TS_TEST_ALL:-}" ] || [ $((case_count % (2 * $1 + 1))) = 1 ]
}

# plain PROGRAM [ARG...]: on the software GPU, not recorded
plain() {
    program=$1
    shift
    LD_LIBRARY_PATH=$TEST_EMU "$TEST_PROGRAMS/$program" "$@"
}

# record TRACE PROGRAM [ARG...]: the same, recorded; output and status are the program's
record() {
    trace=$1
    program=$2
    shift 2
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=$trace "$TEST_PROGRAMS/$program" "$@"
}

# kill_after SECONDS TRACE PROGRAM [ARG...]: records it, kills it while it runs, and waits until it is gone
kill_after() {
    delay=$1
    trace=$2
    program=$3
    shift 3
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=$trace "$TEST_PROGRAMS/$program" "$@" >/dev/null 2>&1 &
    sleep "$delay"
    kill -KILL $! || fail "$program has ended before it was killed"
    ! wait $! || fail "$program was not killed"
}

# replay TRACE [OPTION...]
replay() {
    tsreplay --device emu "$@"
}

# status EXPECTED COMMAND...: the command must exit with that status; its output goes to ./out
status() {
    expected=$1
    shift
    got=0
    "$@" >out 2>err || got=$?
    [ "$got" = "$expected" ] || {
        cat out err >&2
        fail "exit status $got, not $expected: $*"
    }
}

# same_output PROGRAM [ARG...]: recording changes neither output nor status; leaves t.sbt
same_output() {
    plain "$@" >plain.out 2>plain.err
    record t.sbt "$@" >record.out 2>record.err
    cmp plain.out record.out || fail "recording changed the output of $1"
    cmp plain.err record.err || fail "recording changed the messages of $1"
}

# field FILE KEY: a number from a --json line
field() {
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    value = json.loads(line)
    if sys.argv[2] in value:
        print(value[sys.argv[2]])
        break' "$1" "$2"
}

# own_results TRACE [--range RANGE]: readbacks and checksums there of commands that are there, too
own_results() {
    tsview --json "$@" | python3 -c 'import json, sys
records = [r for r in map(json.loads, sys.stdin) if "call" in r]
first = {}
for r in records:
    if r["position"]:
        first[r["stream"]] = min(r["position"], first.get(r["stream"], r["position"]))
for r in records:
    args = r["args"]
    if r["call"] in ("readback", "checksum") and (
            not args["of_position"] or args["of_position"] >= first.get(args["of_stream"], 2**64)):
        print(json.dumps(args))'
}

# find_toolkit: sets $toolkit to the folder of a CUDA toolkit, or ends the test as skipped
find_toolkit() {
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || exit 77
    toolkit=$("$nvcc" --dryrun -ptx none.cu 2>&1 | sed -n 's/^#\$ TOP=//p')
    [ -d "$toolkit" ] || exit 77
}

# near LEAST_DB A B: fails when the peak signal-to-noise ratio of two files of bytes is less
near() {
    python3 - "$@" <<'P'
import math, sys
a, b = (open(name, 'rb').read() for name in sys.argv[2:])
assert a and len(a) == len(b), (len(a), len(b))
error = sum((x - y) ** 2 for x, y in zip(a, b)) / len(a)
ratio = 10 * math.log10(255 ** 2 / error) if error else math.inf
assert ratio >= float(sys.argv[1]), f'{ratio:.2f} dB, not {sys.argv[1]}'
P
}
