#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a program learns that a copy is complete: its bytes are compared, or the verdict is "cannot tell". A
# device that has the right bytes early, but finishes late and with wrong ones, never gets "same".
. "$(dirname "$0")/../e2e/util.sh"
# check WAY: replay what was recorded
check() {
    got=0
    timeout 60 tsreplay --device emu t.sbt >out 2>err || got=$?
    case $1 in
    pointed | unseen | overwritten) expected=2 ;; # it was not seen when the bytes were there
    flood) expected=$got ;; # as many as are kept in mind may be under way
    *) expected=0 ;;
    esac
    [ $got = $expected ] && [ $got != 1 ] || fail "$1: exit status $got: $(cat out err)"
    [ $got = 0 ] || grep -q 'bytes given back' out || fail "$1: no reason: $(cat out err)"
    [ $1 != flood ] || return 0
    # Nothing that tsreplay waits for by itself waits for what the program does later.
    for option in '--check' '--grain sync' '--grain command' '--pace stepped'; do
        status $expected timeout 60 tsreplay --device emu --timeout 30 $option t.sbt
        grep -q 'no progress' err && fail "$1: $option: $(cat err)"
    done
    got=0
    TS_EMU_LATE=10 TS_EMU_WRONG=1 timeout 60 tsreplay --device emu t.sbt >out 2>err || got=$?
    [ $got = 1 ] || [ $got$expected = 22 ] || fail "$1, late and wrong: exit status $got: $(cat out err)"
}

for way in $(plain hsa_waits); do
    chosen 4 || continue
    same_output hsa_waits $way
    check $way
    rm t.sbt
    [ $way != flood ] || continue
    TS_EMU_LATE=5 record t.sbt hsa_waits $way >record.out
    cmp plain.out record.out || fail "$way: recording changed the output of a late device"
    check $way
    rm t.sbt
done
