#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tsreplay --time with HSA: dispatches and copies have a time in each run, also dispatches without a signal of the
# program's; the trace with them is sound and replays.
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
for what in hsa_dispatch hsa_queues hsa_threads hsa_views hsa_random hsa_pixels; do
    TS_GPU_TIME=1 record t.sbt $what "$kernels" >/dev/null
    rm -f timed.sbt
    status 0 replay t.sbt --json --time=3 -o timed.sbt
    tracesmith check timed.sbt
    tsview --json t.sbt >recorded
    tsview --json timed.sbt >records
    echo "$what"
    own=--own
    [ $what != hsa_queues ] || own=--some # two of its dispatches share a signal
    python3 "$TEST_SOURCE/tests/e2e/replay/times.py" recorded records 3 $own || fail "$what: wrong times"
    jq -e '.times.run_count == 3 and (.times.kernels | length > 0)' out >/dev/null || fail "$what: $(cat out)"
    status 0 replay timed.sbt
done
