#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recording that begins in the middle of a program, and ends before it: what is there is replayed
# and equal, from the memory that was saved at its beginning.
. "$(dirname "$0")/util.sh"
plain rounds 40 >plain.out

# alone TRACE: complete, equal, from the checkpoint with which it begins
alone() {
    tracesmith check "$1"
    status 0 replay "$1" --json
    [ "$(field out checkpoint)" -gt 0 ] || fail "$1 does not begin with a checkpoint"
    [ "$(field out checksum_count)" -gt 0 ] || fail "nothing was verified"
    status 2 replay "$1" --from-checkpoint=none
    grep -q 'were not recorded' err || fail "$(cat err)"
}

for call in 2 20 60 200 300; do
    rm -f t.sbt
    TS_START_CALL=$call record t.sbt rounds 40 >record.out
    cmp plain.out record.out || fail "a late start changed the program's output"
    alone t.sbt
done
rm -f t.sbt
TS_START_CALL=100 TS_STOP_CALL=150 record t.sbt rounds 40 >record.out
cmp plain.out record.out || fail "an early stop changed the program's output"
alone t.sbt

# Wherever it begins: what was captured before is sent later.
for program in weave graphs 'in_place capture' capture_threads 'conditional shared'; do
    for call in $(seq 2 7 170); do
        chosen 6 || continue
        rm -f t.sbt
        # shellcheck disable=SC2086
        TS_START_CALL=$call record t.sbt $program >record.out
        for again in 1 2 3; do
            replay t.sbt >out 2>err || [ $? = 3 ] || fail "$program from call $call, $again: $(cat out err)"
        done
    done
done

# A program that runs, told from outside.
program() {
    rm -f t.sbt program.out
    env "$@" TS_OUTPUT=t.sbt LD_LIBRARY_PATH="$TEST_EMU" LD_PRELOAD="$TEST_CAPTURE" \
        "$TEST_PROGRAMS/rounds" 150 10 >program.out &
    pid=$!
    while [ ! -s program.out ]; do sleep 0.02; done
}
ends() {
    wait "$pid" || fail "the program failed"
    tail -n 1 program.out >last.out
    cmp end.out last.out || fail "being told what to do changed the program's output"
}
plain rounds 150 >end.out

program TS_START=paused
tsctl status "$pid" | grep -q waiting || fail "it does not wait"
tsctl start "$pid" | grep -q recording || fail "it did not start"
sleep 0.2
tsctl checkpoint "$pid" >/dev/null
sleep 0.1
tsctl stop "$pid" >/dev/null || fail "it did not stop"
alone t.sbt # complete although the program still runs
[ "$(tsview t.sbt | grep -c checkpoint_end)" = 2 ] || fail "there are not two checkpoints"
ends
status 2 tsctl status "$pid"

# The process id of tsrecord, or of a shell that started it, serves as well; the order waits for the first GPU call.
rm -f t.sbt program.out
sh -c 'sleep 0.2; tsrecord --emu --start=paused -o t.sbt -- "$0" 150 10; exit' "$TEST_PROGRAMS/rounds" >program.out &
pid=$!
tsctl --wait=60 start "$pid" | grep -q recording || fail "it did not start"
tsctl --json status "$pid" >status.out
[ "$(jq .pid status.out)" != "$pid" ] || fail "it says the process id of the shell"
tsctl stop "$pid" >/dev/null || fail "it did not stop"
alone t.sbt
ends
# Two programs: which one is meant?
sh -c 'TS_START=paused; export TS_START; for i in 1 2; do tsrecord --emu -o $i.sbt -- "$0" 150 10 >$i.out & done; wait' \
    "$TEST_PROGRAMS/rounds" &
pid=$!
while [ ! -s 1.out ] || [ ! -s 2.out ]; do sleep 0.02; done
status 2 tsctl start "$pid"
grep -q 'name one of them' err || fail "$(cat err)"
wait

program TS_START_SIGNAL=USR2
kill -USR2 "$pid"
sleep 0.3
kill -USR2 "$pid"
ends
alone t.sbt
