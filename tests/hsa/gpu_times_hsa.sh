#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_GPU_TIME with HSA: each dispatch and copy has one time, also those without a completion signal of the program's, not
# before it was sent, not after it was known to be complete; the program and its replay notice nothing.
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
for what in hsa_dispatch hsa_pipeline hsa_queues hsa_threads hsa_views hsa_passed hsa_random hsa_pixels; do
    plain $what "$kernels" >plain.out
    TS_GPU_TIME=1 record t.sbt $what "$kernels" >recorded.out
    cmp plain.out recorded.out || fail "$what prints something else"
    tracesmith check t.sbt
    status 0 replay t.sbt
    tracesmith stats --json --section=devices t.sbt >devices
    grep -q '"device":"hsa agent#2"' devices || fail "$what: on no device"
    ! grep 'agent#1"' devices || fail "$what: the host's processor is no device"
    tsview --json t.sbt >records
    echo "$what"
    all="--timed aql_kernel_dispatch"
    case $what in
    hsa_queues) all= ;;           # dispatches that share a signal: those after the first have no time
    hsa_pipeline) all=--sparse ;; # two that do and may overlap: what ends last may be the first, then there is none
    esac
    python3 "$TEST_SOURCE/tests/e2e/record/gpu_times.py" records --unordered $all || fail "$what: wrong times"
done
