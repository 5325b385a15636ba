#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls from threads, signal handlers and coroutines with little stack: recording them with host stacks, checksums and
# checkpoints needs next to nothing of it.
. "$(dirname "$0")/../util.sh"

for checksum in off sync command; do
    for checkpoint in 0 2; do
        export TS_STACKS=all TS_CHECKSUM=$checksum TS_CHECKPOINT=$checkpoint
        same_output small_stacks
        unset TS_STACKS TS_CHECKSUM TS_CHECKPOINT
        tracesmith check t.sbt
        status 0 replay t.sbt
    done
done
exit 0
