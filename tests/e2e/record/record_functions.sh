#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of the program that the GPU calls write memory which later commands read, through the
# GPU's eyes and as the source of asynchronous copies, before they have run. Replay gives the same
# bytes, and two recordings are equal.
. "$(dirname "$0")/../util.sh"
same_output hostmem callback
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out

same_output functions
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'all 24 checksums equal' out || fail "$(cat out)"
status 0 replay t.sbt --check=3
tsview t.sbt >view
grep -q '\[late\]' view || fail "no payload was left to a function"
record u.sbt functions >/dev/null
# Which of two functions writes first is chance; nothing else may differ. (row D7 of docs/verdict.md)
tsdiff t.sbt u.sbt >out || grep -q 'cannot tell.*writes to host memory differ' out || fail "$(cat out)"

# A function behind a command of the device, on its stream and on others, over what that has written.
for first in memset kernel copy download bigmemset bigkernel bigcopy bigdownload; do
    for how in one event legacy waited; do
        for last in pinned pageable device in_place; do
            chosen 3 || continue
            same_output behind $first $how $last 4
            replay t.sbt >out 2>err || [ $? = 3 ] || fail "$first $how $last: $(cat out err)"
            case $first in *memset) continue ;; esac
            for wrong in TS_EMU_NOOP=1 TS_EMU_DROP=10:1; do
                got=0
                env $wrong tsreplay --device emu t.sbt >out 2>err || got=$?
                [ $got != 0 ] || fail "$first $how $last, $wrong: $(cat out err)"
            done
        done
    done
done
