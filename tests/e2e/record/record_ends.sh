#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ends without being destroyed by name: streams with their context, captures with their stream. It is
# forgotten, no checkpoint asks for it, and checkpoints and checksums go on.
. "$(dirname "$0")/../util.sh"

for checksum in off sync command; do
    for checkpoint in 0 1; do
        chosen 3 || continue
        export TS_CHECKSUM=$checksum TS_CHECKPOINT=$checkpoint
        same_output ends 600 # after one that failed the next checkpoint takes its time
        tracesmith check t.sbt
        unset TS_CHECKSUM TS_CHECKPOINT
        status 0 replay t.sbt
        tsview t.sbt >view
        last=$(tail -2000 view)
        [ "$checksum" = off ] || echo "$last" | grep -q 'checksum(' ||
            fail "TS_CHECKSUM=$checksum: none after a capture that nobody ended"
        [ "$checkpoint" = 0 ] || echo "$last" | grep -q checkpoint_end ||
            fail "TS_CHECKPOINT=$checkpoint: none at the end"
    done
done

# More streams one after another than can be kept: the trace is whole. (Replay has a limit of its own.)
same_output ends 3000
status 0 replay t.sbt
same_output ends 70000
tracesmith check t.sbt
tracesmith info t.sbt | grep -qi 'streams alive' && fail "streams are not forgotten"
tsview t.sbt | grep -q 'number=70010' || fail "no stream 70010"
exit 0
