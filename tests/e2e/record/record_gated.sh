#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands that are sent at once give back bytes into the same memory one after the other, and between them the
# device waits for the program, which reads them first: each of the results is compared, and a replay does not
# stand still at a gate.
. "$(dirname "$0")/../util.sh"
rounds=3
for gate in function value other; do
    for first in copy part memset kernel; do
        for next in copy part memset kernel; do
            chosen 2 || continue
            case=$first:$gate:$next
            same_output gated $first $gate $next $rounds
            tracesmith check t.sbt >/dev/null
            # Of what kernels write in place, and others write over, there is no result.
            got=0
            timeout 60 tsreplay --device emu --timeout 600 t.sbt >out 2>err || got=$?
            case $case in
            kernel:*:kernel) [ $got = 0 ] || [ $got = 3 ] || fail "$case: $got $(cat out err)" ;;
            # Whether the program wrote beside the kernel, on the other stream, is a matter of time.
            *:other:kernel) [ $got = 0 ] || grep -q "the program may have written" out || fail "$case: $got $(cat out err)" ;;
            *) [ $got = 0 ] || fail "$case: $got $(cat out err)" ;;
            esac
            case $first:$next in
            copy:copy | copy:part | part:copy | part:part | copy:memset | part:memset)
                grep -q "all $((3 * rounds)) checksums equal" out || fail "$case: $(cat out)" ;;
            esac
            case $first in
            copy | part) # the memset behind them is right
                got=0
                TS_EMU_NOOP=1 timeout 60 tsreplay --device emu --timeout 600 t.sbt >out 2>err || got=$?
                [ $got = 1 ] || [ $got = 2 ] || fail "$case: $got where kernels do nothing: $(cat out err)" ;;
            esac
            for option in --order=permuted:1 --pace=stepped; do
                [ $gate:$option = value:--pace=stepped ] && continue # each command is waited for, before the store
                got=0
                timeout 60 tsreplay --device emu --timeout 600 $option t.sbt >out 2>err || got=$?
                [ $got = 0 ] || [ $got = 3 ] || grep -q "the program may have written" out || fail "$case $option: $got $(cat out err)"
            done
        done
    done
done
