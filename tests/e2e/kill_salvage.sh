#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recording cut off by SIGKILL, wherever: readable, and the checker finds nothing wrong; or, before
# the first call, one line says that nothing was recorded.
. "$(dirname "$0")/util.sh"
begun=0
for pause in 0.01 0.03 0.05 0.1 0.2 0.4 0.8; do
    rm -f t.sbt*
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=t.sbt \
        "$TEST_PROGRAMS/many" 100000000 >many.log 2>&1 &
    child=$!
    sleep "$pause"
    # The last one is killed in the middle, however slow the machine is.
    while [ "$pause" = 0.8 ] && [ "$(stat -c %s t.sbt 2>/dev/null || echo 0)" -lt 100000 ]; do
        kill -0 "$child" || fail "it ended by itself: $(cat many.log)"
        sleep 0.05
    done
    kill -9 "$child"
    wait "$child" 2>/dev/null || true
    if [ -e t.sbt ]; then
        begun=$((begun + 1))
        status 0 tsview t.sbt --json
        tracesmith check t.sbt
    elif [ -e t.sbt.lanes ]; then
        status 2 tsview t.sbt
        [ "$(wc -l <err)" = 1 ] || fail "not one line: $(cat err)"
        grep -q 'cut off before its first call, nothing was recorded' err || fail "$(cat err)"
    fi
    for left in t.sbt.lanes t.sbt.new; do
        [ ! -e "$left" ] || fail "$left is left (killed after $pause s)"
    done
done
[ "$begun" -ge 1 ] || fail "no recording had begun"
