#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory between processes. The one that shares its memory is replayed like any other; the one that
# opens it begins with what was there then, computes the same, and says why nothing is certain.
. "$(dirname "$0")/../util.sh"
for kind in plain pool physical; do
    rm -f ./*.sbt
    plain two $kind | sort >plain.out
    record '%p.sbt' two $kind | sort >record.out
    cmp plain.out record.out || fail "recording changed the output"
    owner= opener=
    for trace in *.sbt; do
        tracesmith check "$trace"
        if tsview "$trace" | grep -q 'cuIpcOpenEventHandle'; then opener=$trace; else owner=$trace; fi
    done
    status 0 replay "$owner"
    grep -q 'checksums equal' out
    TS_EMU_NOOP=1 status 1 replay "$owner"
    if [ $kind = physical ]; then
        replay "$opener" >out 2>err || true # what was there is not in the trace
    else
        status 2 replay "$opener"
    fi
    tracesmith info "$opener" >info
    grep -q 'another process' info out || fail "the reason is not told: $(cat out info)"
done
