#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGKILL in a program that does little but take checkpoints: what is there can be read and replayed,
# and one that was under way is not used and mentioned.
. "$(dirname "$0")/util.sh"
for pause in 0.15 0.2 0.25 0.3 0.35; do
    rm -f t.sbt t.sbt.lanes
    TS_CHECKPOINT=1 LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt \
        "$TEST_PROGRAMS/rounds" 100000 >/dev/null 2>&1 &
    child=$!
    sleep "$pause"
    kill -9 "$child"
    wait "$child" 2>/dev/null || true
    [ -e t.sbt.lanes ] || continue # killed before the first call
    tsview t.sbt >view 2>err || fail "unreadable after SIGKILL: $(cat err)"
    tracesmith check t.sbt
    whole=$(grep -c checkpoint_end view || true)
    begun=$(grep -c checkpoint_begin view || true)
    [ "$whole" -gt 1 ] || continue
    last=$(awk '/checkpoint_end/ { seq = before; before = $1 } END { print seq }' view)
    replay t.sbt --range "$((last + 1)):" --json >out 2>err || [ $? -gt 1 ]
    [ "$(field out checkpoint)" -gt 0 ] || fail "no checkpoint was used: $(cat out err)"
    [ "$(field out difference_count)" = 0 ] || fail "the replay differs: $(cat out)"
    [ "$(field out interrupted_count)" = "$((begun - whole))" ] || fail "not said: $(cat out)"
done
