#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use HSA are recorded on the software GPU without a change, and their replay gives the
# same bytes, on one queue and on several, by linking and by dlopen.
. "$(dirname "$0")/../e2e/util.sh"
for program in hsa_dispatch hsa_queues hsa_opened hsa_threads; do
    same_output $program "$TEST_PROGRAMS/hsa_kernels.hsaco"
    tracesmith check t.sbt
    status 0 replay t.sbt
    grep -q 'checksums equal' out || fail "$program: nothing was compared"
    tsview t.sbt --json >view.json
    grep -q '"call":"aql_kernel_dispatch"' view.json || fail "$program: no packets"
    # A kernel that does nothing must be noticed.
    TS_EMU_NOOP=1 status 1 replay t.sbt
    rm -f t.sbt
done

# Copies alone: what no kernel computes cannot differ.
same_output hsa_host
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'all 10 checksums equal' out || fail "hsa_host: not all copies were compared"
