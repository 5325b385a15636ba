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

# What kernels of a graph wrote in place, beside another stream's work, may be the program's (row R18).
record t.sbt conditional shared >/dev/null
for option in --streams=0 --order=permuted:2 --pace=stepped --loop=2 --check=1; do
    status 0 replay t.sbt $option
    TS_EMU_NOOP=1 status 2 replay t.sbt $option
done
TS_EMU_NOOP=1 status 2 replay t.sbt
grep -q 'bytes of mapped memory that the program may have written' out || fail "$(cat out)"
tracesmith trim --device emu --range 26:52 -o part.sbt t.sbt >/dev/null
status 0 replay part.sbt
TS_EMU_NOOP=1 status 2 replay part.sbt
