#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Managed variables of modules, libraries and linked code, which the program writes by itself: recorded
# without a change, whatever is recorded of the device, and replayed to the same bytes.
. "$(dirname "$0")/../util.sh"

for setting in TS_CHECKSUM=off TS_CHECKSUM=sync TS_CHECKSUM=command TS_CHECKPOINT=1; do
    export "${setting?}"
    same_output managed_variables
    unset TS_CHECKSUM TS_CHECKPOINT
    [ "$(grep -c ', step 8 from 267; managed, of type 2' plain.out)" = 3 ] || fail "$(cat plain.out)"
    tracesmith check t.sbt
    status 0 replay t.sbt
    grep -q 'checksums equal' out
    for option in --loop=3 --order=permuted:3 --pace=recorded; do
        status 0 replay t.sbt $option
    done
    for loss in TS_EMU_NOOP=1 TS_EMU_DROP=10:1; do
        got=0
        env $loss tsreplay --device emu t.sbt >out 2>err || got=$?
        [ $got = 1 ] || [ $got = 2 ] || fail "$loss: exit status $got: $(cat out err)"
    done
done

# Each write of the host is in the trace: a replay without one of them differs.
tsview t.sbt >view
[ "$(grep -c 'host_write(' view)" -ge 9 ] || fail "writes are missing: $(grep host_write view)"

# From the middle on, in a trace of its own.
record t.sbt managed_variables >/dev/null
middle=$(tsview t.sbt | awk '/cuLibraryLoadData/ { print $1 }')
tracesmith trim t.sbt --range "$middle:" -o part.sbt
status 0 replay part.sbt
