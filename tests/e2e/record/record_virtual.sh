#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# virtual is recorded without a change, and its replay gives the same bytes.
. "$(dirname "$0")/../util.sh"
same_output virtual
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out
TS_EMU_NOOP=1 status 1 replay t.sbt

# What is mapped counts as memory: both places of the second piece, after each command.
TS_CHECKSUM=command record c.sbt virtual >/dev/null
[ "$(tsview c.sbt | grep -c ' checksum(')" -gt 8 ] || fail "mapped memory has no checksums"
status 0 replay c.sbt
TS_EMU_NOOP=1 status 1 replay c.sbt
