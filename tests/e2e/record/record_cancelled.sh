#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads that are cancelled in a call, and calls that a signal handler leaves by a jump: recording changes nothing, and
# what could not be recorded behind a jump is counted as lost.
. "$(dirname "$0")/../util.sh"

for setting in TS_STACKS=all TS_CHECKSUM=command TS_CHECKPOINT=5; do
    export "$setting"
    same_output cancelled
    status 0 tracesmith check t.sbt
    unset "${setting%=*}"
done

same_output jumps
status 0 tracesmith check t.sbt
[ "$(tsview --json t.sbt | head -1 | sed 's/.*"lost":\([0-9]*\),.*/\1/')" = 6 ] ||
    fail "lost: $(tsview t.sbt | tail -3)"
status 2 replay t.sbt
