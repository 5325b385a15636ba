#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory that is locked twice, in part, or beside other locks is watched until the last lock goes, and is one
# piece in a replay; also from checkpoints.
. "$(dirname "$0")/../e2e/util.sh"
same_output hsa_locks "$TEST_PROGRAMS/hsa_kernels.hsaco"
tracesmith check t.sbt
tsview t.sbt | grep taints && fail tainted
status 0 replay t.sbt
grep -q 'checksums equal' out || fail "nothing was compared"
TS_EMU_NOOP=1 status 1 replay t.sbt
rm t.sbt
TS_CHECKPOINT=10 TS_CHECKSUM=sync record t.sbt hsa_locks "$TEST_PROGRAMS/hsa_kernels.hsaco" >record.out
cmp plain.out record.out || fail "checkpoints changed the output"
status 0 replay t.sbt
for number in $(tsview --json t.sbt | sed -n '/"call":"checkpoint_end"/s/.*"seq":\([0-9]*\).*/\1/p'); do
    timeout 60 tsreplay --device emu --range $((number + 1)): t.sbt >out 2>err || [ $? = 3 ] ||
        fail "from record $number: $(cat out err)"
done
# Parts of it: of memory that is locked more than once a part has the locks that are left then.
TS_CHECKPOINT=20 TS_CHECKSUM=sync record u.sbt hsa_locks "$TEST_PROGRAMS/hsa_kernels.hsaco" >record.out
replay u.sbt >out || fail "$(cat out)"
for at in $(seq 60 5 330); do
    chosen 7 || continue
    tracesmith trim --device emu --range $at:$((at + 12)) -o part.sbt u.sbt >out 2>err ||
        { grep -q 'no command lies' err && continue; } || fail "$at: $(cat out err)"
    replay part.sbt >out 2>err || [ $? = 3 ] || fail "part from $at: $(cat out err)"
done
status 0 tsdiff t.sbt u.sbt
# Any locks, given back in any order, shared by attributes: the same, again and again, also in parts.
rm -f ./*.sbt
for seed in 1 2 3 4 5 6; do
    for mode in 0 1 2 3 4 8 9 15; do
        chosen 2 || continue
        random="hsa_lock_random $TEST_PROGRAMS/hsa_kernels.hsaco $seed 50 $mode"
        # shellcheck disable=SC2086
        plain $random >plain.out
        for setting in TS_CHECKPOINT=0 TS_CHECKPOINT=10 TS_CHECKSUM=sync; do
            export "${setting?}"
            # shellcheck disable=SC2086
            record t.sbt $random >record.out
            unset TS_CHECKPOINT TS_CHECKSUM
            cmp plain.out record.out || fail "$random, $setting: recording changed the output"
            for option in --order=permuted:2 --loop=2; do
                replay t.sbt $option >out 2>err || [ $? = 3 ] || fail "$random, $setting $option: $(cat out err)"
            done
        done
        for at in 60 80 100; do
            tracesmith trim --device emu --range $at:$((at + 20)) -o part.sbt t.sbt >out 2>err || continue
            replay part.sbt >out 2>err || [ $? = 3 ] || fail "$random, part from $at: $(cat out err)"
        done
    done
done
