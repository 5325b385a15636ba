#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_EMU_TIME=virtual: a program that prints times prints the same ones in each run, recorded or not; the times in the
# trace are exact and the same in each recording; the trace replays.
. "$(dirname "$0")/../util.sh"
export TS_EMU_TIME=virtual
plain timed >plain.out
grep -q 'asked [1-9]' plain.out || fail "it did not poll"
for run in 1 2 3 4 5 6 7 8 9 10; do
    plain timed >again.$run &
done
record untimed.sbt timed >untimed.out
for run in 1 2 3; do
    TS_GPU_TIME=1 record t$run.sbt timed >timed.$run
done
wait
for run in again.* untimed.out timed.?; do
    cmp plain.out $run || fail "$run has other times"
done
for run in 1 2 3; do
    tracesmith check t$run.sbt
    tsview --json t$run.sbt >records$run
    python3 "$TEST_SOURCE/tests/e2e/record/virtual_times.py" records$run plain.out >times$run || fail "wrong times"
    cmp times1 times$run || fail "recording $run has other times"
done
for what in 'pipeline 4' 'streams 3' graphs captures staging threads overtakes pools managed functions \
    releases virtual conditional; do
    same_output $what
done
unset TS_EMU_TIME
status 0 replay t1.sbt
