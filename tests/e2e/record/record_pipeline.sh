#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three streams with events and asynchronous copies: each download is one readback, all equal.
. "$(dirname "$0")/../util.sh"
same_output pipeline 40
status 0 replay t.sbt --json
[ "$(field out checksum_count)" = 40 ] || fail "not 40 checksums: $(cat out)"
status 0 replay t.sbt --loop 3
status 0 replay t.sbt --pace stepped
status 0 replay t.sbt --pace recorded
