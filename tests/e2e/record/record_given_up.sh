#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a copy gave into memory that the program gives up, and uses for something else, is taken before that where it is
# complete; where it is not, the replay cannot tell. A wrong device never gets "same".
. "$(dirname "$0")/../util.sh"

for way in free register; do
    for when in early late; do
        for setting in TS_CHECKSUM=off TS_READBACK=store TS_CHECKPOINT=1; do
            plain given_up $way $when >plain.out
            (export $setting && record t.sbt given_up $way $when >record.out)
            cmp plain.out record.out || fail "$way $when $setting: recording changed the output"
            expected=0
            [ $when != early ] || expected=2
            status $expected tsreplay --device emu t.sbt
            status $expected tsreplay --device emu --order=permuted:1 t.sbt
            got=0
            TS_EMU_NOOP=1 tsreplay --device emu t.sbt >out || got=$?
            [ $got = 1 ] || [ $got$expected = 22 ] || fail "$way $when $setting: a device that does nothing: $got: $(cat out)"
        done
    done
done
