#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fork, exec that works and exec that fails, threads and checkpoints, crossed: each process that uses the
# GPU has one whole trace, and each of them replays equal.
. "$(dirname "$0")/../util.sh"

for checkpoint in 0 1; do
    rm -f ./*.sbt
    export TS_CHECKPOINT=$checkpoint
    same_output relatives
    unset TS_CHECKPOINT
    [ "$(ls ./*.sbt | wc -l)" = 4 ] || fail "not a trace for each of four processes: $(ls)"
    for trace in ./*.sbt; do
        tracesmith check "$trace" >/dev/null
        status 0 replay "$trace"
        grep -q 'checksums equal' out || fail "$trace: $(cat out)"
    done
done

# A child gets the signal that starts a recording before it has one.
rm -f ./*.sbt
export TS_START_SIGNAL=USR2
record t.sbt relatives >record.out || fail "a child that was sent a signal ended: $?"
unset TS_START_SIGNAL
