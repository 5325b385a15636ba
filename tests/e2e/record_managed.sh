#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# managed is recorded without a change, and its replay gives the same bytes.
. "$(dirname "$0")/util.sh"
same_output managed
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out
TS_EMU_NOOP=1 status 1 replay t.sbt

# What a kernel is still writing when a copy waits for it is looked at when it is done, not half of it.
tsview t.sbt >view
grep -q 'host_write(.*size=1048576' view || fail "$(grep host_write view)"
