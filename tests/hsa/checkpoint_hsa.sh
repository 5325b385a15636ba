#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checkpoints of HSA programs: a range is replayed from the nearest one, to the same bytes as by way of
# all that comes before; a trace can begin late, and be trimmed.
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
records() { tracesmith info --json t.sbt | sed 's/.*"records":\([0-9]*\).*/\1/'; }

# part RANGE: from a checkpoint and from the beginning, compared, and a kernel that does nothing is noticed
part() {
    status 0 replay --range "$1" --json t.sbt
    [ "$(field out checkpoint)" -gt 0 ] || fail "$1: not from a checkpoint: $(cat out)"
    [ "$(field out checksum_count)" -gt 0 ] || fail "$1: nothing was compared"
    [ "$(field out jumped_count)" -gt 0 ] || fail "$1: nothing was left out"
    status 0 replay --range "$1" --from-checkpoint=none t.sbt
    TS_EMU_NOOP=1 status 1 replay --range "$1" t.sbt
}

for program in hsa_dispatch hsa_rounds; do
    rm -f t.sbt
    plain $program "$kernels" >plain.out
    TS_CHECKPOINT=10 TS_CHECKSUM=sync record t.sbt $program "$kernels" >record.out
    cmp plain.out record.out || fail "checkpoints changed the output of $program"
    tracesmith check t.sbt
    tsview t.sbt | grep taints && fail "$program: tainted"
    [ "$(tsview t.sbt | grep -c checkpoint_end)" -ge 5 ] || fail "$program: too few checkpoints"
    status 0 replay t.sbt
    part $(($(records) / 2)):
    part $(($(records) / 3)):$(($(records) * 2 / 3))

    rm -f part.sbt
    status 0 tracesmith trim --device emu --json --range $(($(records) / 2)): -o part.sbt t.sbt
    status 0 tracesmith check part.sbt
    status 0 replay part.sbt --json
    [ "$(field out checksum_count)" -gt 0 ] || fail "$program: nothing of the part was compared"
    [ "$(field out jumped_count)" = 0 ] || fail "$program: commands before the part are there"

    for call in 2 20 35; do
        rm -f t.sbt
        TS_START_CALL=$call TS_CHECKSUM=sync record t.sbt $program "$kernels" >record.out
        cmp plain.out record.out || fail "a late start changed the output of $program"
        tracesmith check t.sbt
        status 0 replay t.sbt --json
        [ "$(field out checkpoint)" -gt 0 ] || fail "$program: no checkpoint after a late start"
        [ "$(field out checksum_count)" -gt 0 ] || fail "$program: nothing compared after a late start"
    done
done

# Recording begins at any call, without checksums: also between a kernel's command and the call that it is part of.
plain hsa_rounds "$kernels" >plain.out
for call in 52 56 60 64 66 67 68 69 70 72; do
    rm -f t.sbt
    TS_START_CALL=$call record t.sbt hsa_rounds "$kernels" >record.out || fail "recording from call $call on ended the program"
    cmp plain.out record.out || fail "recording from call $call on changed the output of hsa_rounds"
done

# Programs of which nothing is known but that they work: several queues, threads, copies that wait.
for program in hsa_pixels hsa_queues hsa_threads hsa_virtual hsa_opened hsa_soft; do
    rm -f t.sbt
    plain $program "$kernels" >plain.out
    TS_CHECKPOINT=2 record t.sbt $program "$kernels" >record.out
    cmp plain.out record.out || fail "checkpoints changed the output of $program"
    tracesmith check t.sbt
    tsview t.sbt | grep taints && fail "$program: tainted"
    status 0 replay t.sbt
    for number in $(tsview --json t.sbt | sed -n '/"call":"checkpoint_end"/s/.*"seq":\([0-9]*\).*/\1/p'); do
        timeout 60 tsreplay --device emu --range $((number + 1)): t.sbt >out 2>err || [ $? = 3 ] ||
            fail "$program from record $number: $(cat out err)"
    done
done
