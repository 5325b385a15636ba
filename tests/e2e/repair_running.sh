#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace that is still being written is not repaired under another name, where its lanes file is not found; when
# its program is gone it is, and then what is in the lanes is brought in.
. "$(dirname "$0")/util.sh"
LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=t.sbt "$TEST_PROGRAMS/many" 100000000 >many.log 2>&1 &
child=$!
trap 'kill -9 $child 2>/dev/null; finish' EXIT
while [ "$(stat -c %s t.sbt 2>/dev/null || echo 0)" -lt 100000 ]; do
    kill -0 $child || fail "it ended by itself: $(cat many.log)"
    sleep 0.05 # asked again, however long it takes
done
ln -s t.sbt link.sbt
ln t.sbt hard.sbt
for name in link hard; do
    status 2 tsview --repair $name.sbt
    grep -q 'is being written by another process' err || fail "$name: $(cat err)"
done
kill -9 $child
wait $child 2>/dev/null || :
trap finish EXIT
cp t.sbt alone.sbt
status 0 tsview --repair alone.sbt
for name in link hard t; do
    status 0 tsview --repair $name.sbt
    status 0 tracesmith check $name.sbt
done
[ ! -e t.sbt.lanes ] || fail "the lanes file is left"
for name in alone t; do
    tsview --json $name.sbt | head -1 >$name.json
done
[ "$(field alone.json records)" -le "$(field t.json records)" ] || fail "the lanes were lost"
