#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# AMD's own HIP in programs that end in callbacks, fork, close the library, use it after main, ...: each does
# what it does unrecorded, and its trace can be replayed, whatever end it has.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
export TS_EMU_HSA_ISA=amdgcn-amd-amdhsa--gfx906
export TEST_PROGRAMS=$TEST_HIP

# thing MODE COMPARISONS TRACES
thing() {
    before=0 after=0
    { plain hip_trouble "$1" >plain.out 2>plain.err; } 2>/dev/null || before=$?
    [ $before != 77 ] || { echo 'no libamdhip64: scripts/deps test installs it'; exit 77; }
    rm -rf traces
    mkdir traces
    { record traces/%p.sbt hip_trouble "$1" >record.out 2>record.err; } 2>/dev/null || after=$?
    [ $before = $after ] || fail "$1: status $after, unrecorded $before"
    cmp plain.out record.out || fail "$1: another output: $(cat record.out)"
    [ "$(ls traces/*.sbt | wc -l)" = "$3" ] || fail "$1: $(ls traces)"
    for trace in traces/*.sbt; do
        tsview --json "$trace" 2>&1 | sed -n '1s/.*"end":"\([a-z]*\)".*/\1/p' >end
        status 0 replay --timeout 60 "$trace"
        tracesmith check "$trace"
        [ "$2" = some ] || grep -q "all $2 checksums equal" out || fail "$1: $(cat out)"
    done
}

thing none 2 1
grep -q '^first 1' plain.out || fail "not even the first copy is right: $(cat plain.out)"
thing exit 1 1
grep -q callback record.out || fail "no callback: $(cat record.out)"
thing quick 1 1
grep -q finished end || fail "quick_exit: the trace has no end: $(cat end)"
# HIP 5.2.3 does not live until main's destructors: the program crashes there, as it does unrecorded.
thing late some 1
thing killed some 1
thing fork_early some 2
thing fork_late 2 1
thing reopen 2 1
thing reset 3 1
thing threads 42 1
thing callbacks 2 1
tsview --calls=hsa_signal_handler traces/*.sbt | grep -c hsa_signal_handler >handlers
[ "$(cat handlers)" -ge 20 ] || fail "handlers: $(cat handlers)"
