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
# A sanitizer's runtime must be initialised before our dlsym runs; in a preloaded library it is not.
# What is inside the preloaded library runs under the sanitizers in the unit tests of capture/.
[ -z "${TEST_SANITIZED:-}" ] || exit 77

fail() {
    echo "$*" >&2
    exit 1
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
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=$trace "$TEST_PROGRAMS/$program" "$@"
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
