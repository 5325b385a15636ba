#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Streams that wait for values in memory, whoever writes them: recorded without taint, and replayed equal,
# also command by command, in other orders, and a stream with what it needs.
. "$(dirname "$0")/../util.sh"
same_output values
tracesmith check t.sbt >/dev/null
tracesmith info t.sbt >info
! grep -q taint info || fail "tainted: $(cat info)"
status 0 replay t.sbt --json
[ "$(field out checksum_count)" = 8 ] || fail "not 8 checksums: $(cat out)"
TS_EMU_NOOP=1 status 1 replay t.sbt
status 0 replay t.sbt --pace stepped
for schedule in reverse random:3; do
    TS_EMU_SCHEDULE=$schedule TS_EMU_STREAMS=serial status 0 replay t.sbt
done
status 0 replay t.sbt --check=6
grep -q 'every run gave the same bytes' out || fail "$(cat out)"
status 0 replay t.sbt --streams 2 --json
[ "$(field out checksum_count)" = 5 ] || fail "not the stream's checksums: $(cat out)"

# What the program answers while it waits for the GPU, and to the GPU without any call, is in the trace.
tsview t.sbt | grep -q 'host_write(.*size=4, .*of_stream=-' || fail "no value of the program's"
tsview t.sbt | grep -q 'host_write(.*size=4, .*of_stream=1' || fail "no answer to the device"
