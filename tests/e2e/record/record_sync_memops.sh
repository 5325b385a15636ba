#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An attribute of memory is recorded with its value, and set again by the replay.
. "$(dirname "$0")/../util.sh"
same_output sync_memops
tracesmith check t.sbt
tracesmith view --calls=cuPointerSetAttribute t.sbt >listed
grep -q 'value=\[01000000\], attribute=CU_POINTER_ATTRIBUTE_SYNC_MEMOPS' listed || fail "$(cat listed)"
tracesmith coverage t.sbt >missing
! grep -q cuPointerSetAttribute missing || fail "$(cat missing)"
status 0 replay t.sbt
