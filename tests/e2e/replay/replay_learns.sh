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
