#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every way in which a program can learn that the GPU is done, followed by a write of the host into what
# the GPU has read: the replay waits as well, whatever the order.
. "$(dirname "$0")/../util.sh"
for way in stream_sync stream_query event_sync event_query context_sync blocking_copy blocking_free \
    graph_event_sync graph_event_query host_function slow_function callback graph_function polled_value polled_memset \
    polled_managed other_stream contextless_free; do
    # Without a call that tells, the program may have written what it did while the kernel ran, or the
    # kernel that got the address: the replay waits all the same, but does not know (row R18).
    chosen 4 || continue
    case $way in
    polled_*) expected=2 ;;
    *) expected=0 ;;
    esac
    same_output learns $way
    tracesmith check t.sbt
    for option in --pace=fast --order=delayed:1 --order=delayed:2 --order=permuted:1; do
        status $expected replay t.sbt $option
    done
    # A device that is complete later than its results are there, and one that is wrong in the end.
    status $expected env TS_EMU_LATE=2 tsreplay --device emu t.sbt
    status 1 env TS_EMU_LATE=2 TS_EMU_WRONG=1 tsreplay --device emu t.sbt
    rm t.sbt
done

# The GPU is ahead of the calls.
for way in slow_function graph_function; do
    export TS_EMU_RETURN=5
    same_output learns $way
    unset TS_EMU_RETURN
    status 0 replay t.sbt --order=delayed:1
done
record t.sbt learns host_function >/dev/null
status 0 replay --check=2 t.sbt

# The program sees it in its memory, and changes what was read or given back. Nobody knows then who wrote what: never
# "different"; and never "same" on a device that computes nothing.
for way in c k m v cx kx mx vx cl kl ml vl cxl kxl mxl vxl; do
    chosen 3 || continue
    same_output sees $way
    for option in --pace=fast --order=delayed:1 --order=permuted:1; do
        got=0
        replay t.sbt $option >out 2>err || got=$?
        [ $got = 0 ] || [ $got = 2 ] || fail "sees $way $option: exit status $got: $(cat out err)"
    done
    got=0
    TS_EMU_NOOP=1 replay t.sbt >out 2>err || got=$?
    [ $got = 1 ] || [ $got = 2 ] || fail "sees $way: exit status $got without kernels: $(cat out err)"
done
# What a value tells is known as soon as the program makes a call.
same_output sees vw
status 0 replay t.sbt
