#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# linked is recorded without a change, and its replay gives the same bytes.
. "$(dirname "$0")/../util.sh"
same_output linked
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out
TS_EMU_NOOP=1 status 1 replay t.sbt
