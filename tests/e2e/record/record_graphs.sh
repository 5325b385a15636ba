#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Graphs, built by hand and captured from streams: recorded without taint, replayed equal, node by node
# and launch by launch; different where kernels do nothing, or where a launch is given other bytes.
. "$(dirname "$0")/../util.sh"
# Nothing of ours ends a capture of another thread.
for setting in TS_CHECKSUM=off TS_CHECKSUM=sync TS_CHECKPOINT=1 TS_GPU_TIME=1 TS_CHECKSUM=off; do
    export "${setting?}" TS_EMU_EXACT=0
    same_output asked
    unset TS_CHECKSUM TS_CHECKPOINT TS_GPU_TIME TS_EMU_EXACT
done
# Copies of one graph to one place: those bytes are compared that the program found.
for way in grow shrink rows; do
    same_output twice $way
    for option in --order=permuted:2 --loop=2; do
        status 0 replay t.sbt $option
    done
done
for program in graphs captures; do
    rm -f ./*.sbt
    same_output $program
    tracesmith check t.sbt
    status 0 replay t.sbt
    grep -q 'checksums equal' out
    TS_EMU_NOOP=1 status 1 replay t.sbt
    status 0 replay t.sbt --check=4
    grep -q 'every run gave the same bytes' out || fail "$(cat out)"
    for schedule in reverse random:7; do
        TS_EMU_SCHEDULE=$schedule TS_EMU_STREAMS=serial status 0 replay t.sbt
    done
    tracesmith info t.sbt >info
    ! grep -q taint info || fail "$program: tainted"

    # What a launch reads from pageable memory of the program is in the trace, before it.
    "$TEST_PROGRAMS/edit_trace" t.sbt edited.sbt host_write 1 100
    status 1 replay edited.sbt
    grep -q cuGraphLaunch out err || fail "the launch is not named"

    # All memory, whenever the program waits, and after each command.
    for grain in sync command; do
        TS_CHECKSUM=$grain record c.sbt $program >/dev/null
        status 0 replay c.sbt
        rm -f c.sbt
    done

    # From a checkpoint: graphs are made, their earlier launches are not sent.
    TS_CHECKPOINT=8 record p.sbt $program >/dev/null
    status 0 replay p.sbt
    last=$(tsview --json p.sbt | tail -1 | sed 's/.*"seq":\([0-9]*\).*/\1/')
    status 0 replay p.sbt --range $((last * 3 / 4)):"$last"
    grep -q 'from checkpoint' out || fail "no checkpoint was used"
    for stream in 1 2; do
        status 0 replay t.sbt --streams $stream
    done
done

mv t.sbt captures.sbt
record a.sbt graphs >/dev/null
record b.sbt graphs >/dev/null
# A host function of the graph writes memory while the program does, and when it is seen that the first of two
# launches is complete, is chance: nothing else may differ.
tsdiff a.sbt b.sbt >out || grep -Eq 'cannot tell.*(writes to host memory differ|another command)|readback, is missing' out ||
    fail "$(cat out)"

# The GPU, and functions of the program that it calls, are ahead of the call that launches the graph. What its
# copies have written into pinned memory by then is not the program's, which writes nothing there.
for program in graphs captures functions; do
    export TS_EMU_RETURN=50
    same_output $program
    unset TS_EMU_RETURN
    status 0 replay t.sbt
    [ $program = graphs ] || continue
    tsview --json t.sbt | python3 -c 'import json, sys
pinned = []
for r in map(json.loads, sys.stdin):
    if r.get("call", "").startswith("cuMemAllocHost"):
        pinned.append((int(str(r["args"]["pp"]), 0), int(str(r["args"]["bytesize"]), 0)))
    if r.get("call") == "host_write" and r["args"]["of_position"] == 0:
        address = int(str(r["args"]["address"]), 0)
        assert not any(address - start in range(size) for start, size in pinned), r
assert pinned'
done

# A capture that went wrong is not a graph, and what follows is as it was.
tsview captures.sbt >view
grep -q 'cuStreamEndCapture.*INVALIDATED' view || fail "the broken capture is not shown"
grep -q 'captured\]' view || fail "captured calls are not marked"

# Loops and choices in a graph; their handles are arguments of kernels.
rm -f t.sbt
# What a loop writes in memory of the program is not the program's, however far the loop is.
for setting in TS_EMU_LATE=20 TS_EMU_RETURN=1 TS_EMU_LINGER=10; do
    plain conditional shared >plain.out
    env "$setting" LD_LIBRARY_PATH="$TEST_EMU" LD_PRELOAD="$preload" TS_OUTPUT=t.sbt "$TEST_PROGRAMS/conditional" shared >record.out
    cmp plain.out record.out || fail "$setting: another output"
    status 0 replay t.sbt
done
same_output conditional
status 0 replay t.sbt
grep -q 'all 4 checksums equal' out
TS_EMU_NOOP=1 status 1 replay t.sbt

# Threads that capture at once.
rm -f t.sbt
same_output capture_threads
status 0 replay t.sbt
grep -q 'all 96 checksums equal' out
