#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Device memory that a copy calls host memory is not read by the program's threads: no bytes of it are
# recorded, and replay copies them from where they are.
. "$(dirname "$0")/../util.sh"
same_output mistyped
tracesmith check t.sbt
[ "$(tsview t.sbt | grep -c 'readback(')" = 3 ] || fail "device memory was read: $(tsview t.sbt)"
status 0 replay t.sbt
grep -q 'all 3 checksums equal' out || fail "$(cat out)"
