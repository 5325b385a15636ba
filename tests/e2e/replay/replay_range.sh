#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A range runs up to itself and verifies only inside.
. "$(dirname "$0")/../util.sh"
record t.sbt pipeline 30 >/dev/null
status 0 replay t.sbt --range 100:200 --json
inside=$(field out checksum_count)
status 0 replay t.sbt --json
[ "$inside" -lt "$(field out checksum_count)" ] || fail "the range did not narrow the verification"
[ "$inside" -gt 0 ] || fail "nothing was verified inside the range"

# What commands before the range wrote to memory of the program is no result of it.
record s.sbt spins plain 1 >/dev/null
free=$(tsview s.sbt | awk '/cuMemFree_v2/ { print $1; exit }')
status 3 replay s.sbt --range "$free:"
