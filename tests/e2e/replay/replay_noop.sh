#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What was recorded with kernels is found different where kernels do nothing.
. "$(dirname "$0")/../util.sh"
for program in "saxpy" "pipeline 4" "pointers" "threads" "graphs" "captures"; do
    # shellcheck disable=SC2086
    record t.sbt $program >/dev/null
    status 0 replay t.sbt
    TS_EMU_NOOP=1 status 1 replay t.sbt
    rm -f t.sbt
done
