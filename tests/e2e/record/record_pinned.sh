#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a command gives back into memory that host and GPU share is compared, whatever is sent behind it
# before the program has seen it, and is not recorded once more as the program's. The device that records
# is late, so that nothing is over when the next command is sent; the one that replays is right, or wrong,
# and never says "same" then.
. "$(dirname "$0")/../util.sh"
export TS_CHECKSUM=sync
replay_quietly() {
    replay "$@" 2>/dev/null
}
for how in sync event query waits reader writer beside part polled changed; do
    for way in copy plain device rows fill; do
        [ $how = waits ] && [ $way != copy ] && continue
        chosen 4 || continue
        plain pinned $way $how >plain.out
        TS_EMU_LATE=20 record t.sbt pinned $way $how >record.out
        cmp plain.out record.out || fail "$way $how: another output"
        tracesmith check t.sbt >/dev/null
        # Which bytes are whose is not known when the program changes some before it waits, and of rows
        # when another command does.
        case $how:$way in
        polled:* | writer:rows | part:rows) replay_quietly t.sbt >out || [ $? = 2 ] || fail "$way $how: $(cat out)" ;;
        *) status 0 replay t.sbt ;;
        esac
        [ $way = fill ] && continue # of fills nothing comes out wrong
        TS_EMU_WRONG=1 replay_quietly t.sbt >out && fail "$way $how: the same on a wrong device: $(cat out)"
    done
done
unset TS_CHECKSUM

# Whether the driver returns when a command is done, or before, makes no difference.
for how in sync event query waits reader writer beside part polled changed; do
    for way in copy plain device rows fill; do
        [ $how = waits ] && [ $way != copy ] && continue
        chosen 4 || continue
        TS_EMU_RETURN=1 record a.sbt pinned $way $how >/dev/null
        TS_EMU_LATE=20 record b.sbt pinned $way $how >/dev/null
        for pair in "a.sbt b.sbt" "b.sbt a.sbt"; do
            # shellcheck disable=SC2086 # two files
            tsdiff $pair >out || [ $? = 2 ] || fail "$way $how: $(cat out)"
        done
        case $how in sync | waits | changed) [ $way = rows ] || grep -q '^same' out || fail "$way $how: $(cat out)" ;; esac
    done
done

# What the program writes beside a copy is its own, and compared.
TS_EMU_RETURN=1 record a.sbt pipeline >/dev/null
TS_EMU_LATE=5 record b.sbt pipeline >/dev/null
status 0 tsdiff a.sbt b.sbt

# A byte that the program changes is recorded, and of what it does not change nothing is.
count() {
    TS_EMU_LATE=20 record t.sbt pinned "$1" "$2" >/dev/null
    tsview --json t.sbt | grep -c '"host_write"' || true
}
for way in copy plain device fill; do
    [ "$(count $way sync)" = 0 ] || fail "$way: $(tsview t.sbt)"
    [ "$(count $way changed)" = 3 ] || fail "$way: $(tsview t.sbt)"
done
