#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_GPU_TIME with CUDA: every command has one time, not before its call began, not after a later call found it
# complete, in the order of its stream; the program and its replay notice nothing. By events, as with a GPU's driver
# (TS_EMU_EXACT=0), and by what the software GPU says itself: then without an error.
. "$(dirname "$0")/../util.sh"
export TS_GPU_TIME=1
timed() {
    plain $what >plain.out
    record t.sbt $what >recorded.out
    cmp plain.out recorded.out || fail "$what prints something else"
    tracesmith check t.sbt
    status 0 replay t.sbt
    tsview --json t.sbt >records
    echo "$what"
    python3 "$TEST_SOURCE/tests/e2e/record/gpu_times.py" records "$@" || fail "$what: wrong times"
}
for what in saxpy 'pipeline 4' 'streams 3' graphs captures staging threads overtakes pools managed functions \
    'values shared' releases virtual conditional; do
    export TS_EMU_EXACT=0
    timed
    unset TS_EMU_EXACT
    timed --exact
done
