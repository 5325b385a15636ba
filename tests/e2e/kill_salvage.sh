#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recording cut off by SIGKILL is readable, says so, and passes the checker once drained.
. "$(dirname "$0")/util.sh"
for pause in 0.05 0.2 0.4 0.8; do
    rm -f t.sbt t.sbt.lanes
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt \
        "$TEST_PROGRAMS/many" 100000000 >/dev/null 2>&1 &
    child=$!
    sleep "$pause"
    kill -9 "$child"
    wait "$child" 2>/dev/null || true
    [ -e t.sbt.lanes ] || continue # killed before the first call
    tsview t.sbt --json >view 2>err || fail "unreadable after SIGKILL: $(cat err)"
    tracesmith check t.sbt
    [ ! -e t.sbt.lanes ] || fail "the lanes were not drained"
done
