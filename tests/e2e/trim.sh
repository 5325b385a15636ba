#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Part of a CUDA trace as a trace of its own: smaller, and it replays alone with the results of the
# whole. Memory is saved by a replay, wherever it lies: allocations, pools, host memory, managed
# memory, variables, arrays.
. "$(dirname "$0")/util.sh"

# cut WHOLE RANGE: leaves part.sbt, which replays alone
cut() {
    rm -f part.sbt
    status 0 tracesmith trim --device emu --json --range "$2" -o part.sbt "$1"
    [ "$(field out bytes)" -lt "$(field out trace_bytes)" ] || fail "$1 $2: not smaller"
    status 0 tracesmith check part.sbt
    status 0 replay part.sbt --json
    [ "$(field out checkpoint)" -gt 0 ] || fail "$1 $2: no checkpoint"
    [ "$(field out checksum_count)" -gt 0 ] || fail "$1 $2: nothing was compared"
}

record t.sbt rounds 40 10 >record.out
for range in 200:300 350:450 500:; do
    cut t.sbt $range
    [ "$(field out jumped_count)" = 0 ] || fail "commands before the range are there: $(cat out)"
done
for program in copies functions hostmem managed pools texture threads captures; do
    rm -f t.sbt
    record t.sbt $program >record.out
    cut t.sbt $(($(tracesmith info --json t.sbt | sed 's/.*"records":\([0-9]*\).*/\1/') / 2)):
done

# A command that was taken out, and all others numbered again: wherever the part begins, it is not the same.
alter() {
    "$TEST_PROGRAMS/alter_trace" "$@"
}
rm -f t.sbt
record t.sbt threads >record.out
commands=$(tsview --json t.sbt | sed -n 's/^{"seq":\([0-9]*\),.*"stream":[0-9]*,.*"call":"cuLaunchKernel".*/\1/p')
step=${TS_TEST_ALL:+24}
for number in $(echo "$commands" | awk -v step="${step:-96}" 'NR % step == 5'); do
    rm -f less.sbt
    alter t.sbt less.sbt remove "$number"
    for range in 0:100000000 $((number / 2)): $((number - 1)): $((number - 1)):100000000 0:$((number + 60)); do
        for how in "" --lossy --keep-going; do
            rm -f part.sbt
            # shellcheck disable=SC2086
            tracesmith trim $how --device emu --range "$range" -o part.sbt less.sbt >trim.out 2>&1 || continue
            replay --lossy part.sbt >out 2>&1 && fail "without record $number, $range $how: $(cat out)"
            tracesmith check part.sbt >check.out || fail "without record $number, $range $how: $(cat check.out)"
        done
    done
done

# From a recorded checkpoint no more is replayed than what lies between.
rm -f t.sbt part.sbt
TS_CHECKPOINT=60 record t.sbt rounds 40 10 >record.out
cut t.sbt 350:450

# What cannot be saved is said, and nothing is left behind.
rm -f t.sbt part.sbt
record t.sbt virtual >record.out
status 2 tracesmith trim --device emu --range 20: -o part.sbt t.sbt
grep -q 'cuMemCreate' err || fail "$(cat err)"
[ ! -e part.sbt ] || fail "half a trace was left behind"

# Where a range begins between a function of the program and what that wrote, or between commands of one
# stream that several threads sent, its memory is not known: never "different".
for program in 'hostmem callback' 'awaits shared' 'functions'; do
    rm -f t.sbt
    # shellcheck disable=SC2086
    record t.sbt $program >record.out
    count=$(tracesmith info --json t.sbt | sed 's/.*"records":\([0-9]*\).*/\1/')
    for first in $(seq 12 "$((count / 16 + 1))" "$count"); do
        rm -f part.sbt
        tracesmith trim --device emu -q --range "$first:" -o part.sbt t.sbt >out 2>err || continue
        got=0
        replay part.sbt >out 2>err || got=$?
        [ "$got" != 1 ] || fail "$program from $first: $(cat out err)"
    done
done

# A graph that was captured before the range has its nodes: a replay in which kernels do nothing differs.
rm -f t.sbt part.sbt
record t.sbt captures >record.out
first=$(tsview t.sbt | awk '/cuGraphLaunch/ { print $1; exit }')
tracesmith trim --device emu -q --range "$first:" -o part.sbt t.sbt
status 0 replay part.sbt
TS_EMU_NOOP=1 status 1 replay part.sbt

# A copy that was sent before the range and completes in it is in the part, with what comes between; its result is compared.
rm -f t.sbt
record t.sbt pipeline 3 >record.out
tsview --json t.sbt | python3 -c 'import json, sys
records = [r for r in map(json.loads, sys.stdin) if "call" in r]
seqs = {(r["stream"], r["position"]): r["seq"] for r in records if r["position"]}
copies = [(seqs[r["args"]["of_stream"], r["args"]["of_position"]], r["seq"]) for r in records if r["call"] == "readback"]
for copy, result in copies:
    for first in copy + 1, result:
        for end in result + 1, records[-1]["seq"] + 1:
            print(first, end, min([first] + [c for c, r in copies if first <= r < end]))' >ranges
[ -s ranges ] || fail 'no copies'
while read -r first end begin; do
    rm -f part.sbt
    status 0 tracesmith trim --device emu --range "$first:$end" -o part.sbt t.sbt
    tracesmith info --json part.sbt | grep -q "\"trim.records\":\"$begin:" || fail "$first:$end does not begin with $begin"
    own_results t.sbt --range "$begin:$end" >expected
    own_results part.sbt >results
    cmp expected results || fail "$first:$end: other results"
    status 0 replay part.sbt --once --json
    [ "$(field out checksum_count)" = "$(wc -l <expected)" ] || fail "$first:$end: not all results were compared"
done <ranges
