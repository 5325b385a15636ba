#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HSA calls from threads and signal handlers with little stack: recording them with host stacks and checksums needs
# next to nothing of it.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77 # a sanitizer's own frames are larger
for checksum in off sync; do
    for checkpoint in 0 2; do
        export TS_STACKS=all TS_CHECKSUM=$checksum TS_CHECKPOINT=$checkpoint
        same_output hsa_small_stacks "$TEST_PROGRAMS/hsa_kernels.hsaco"
        unset TS_STACKS TS_CHECKSUM TS_CHECKPOINT
        tracesmith check t.sbt
        status 0 replay t.sbt
    done
done
