#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# managed is recorded without a change, and its replay gives the same bytes.
. "$(dirname "$0")/../util.sh"
same_output managed
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out
TS_EMU_NOOP=1 status 1 replay t.sbt

# What a kernel is still writing when a copy waits for it is not the program's: half of it never is.
tsview t.sbt >view
grep 'host_write(' view | grep -v -e 'size=20000,' -e 'size=1048576,' && fail "half of what a kernel wrote"
exit 0
