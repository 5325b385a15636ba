#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program had made and filled before recording began is there in the replay: memory from pools,
# virtual and managed memory, modules that were linked, arrays behind textures and surfaces.
. "$(dirname "$0")/util.sh"

# late CALL PROGRAM [ARG...]: recorded from that call on; complete, equal, untainted
late() {
    call=$1
    shift
    plain "$@" >plain.out
    rm -f t.sbt
    TS_START_CALL=$call record t.sbt "$@" >record.out
    cmp plain.out record.out || fail "$1 from call $call: a late start changed the output"
    tracesmith check t.sbt
    status 0 replay t.sbt --json
    [ "$(field out checksum_count)" -gt 0 ] || fail "$1 from call $call: nothing was verified"
    [ "$(field out checkpoint)" = 1 ] || fail "$1 from call $call: not from a checkpoint"
}

# The calls lie where something has been made that is used later.
for call in 15 40 77; do late $call pools; done
for call in 11 15 19 20 22; do late $call virtual; done # 20: between being unmapped and mapped again
for call in 12 20 27; do late $call managed; done
for call in 12 14; do late $call linked; done
for call in 30 45 60; do late $call texture; done
for call in 15 18 21; do late $call surface; done
for call in 49 58 100 131; do late $call kinds; done
tsview t.sbt --calls=memory >view
for kind in device host global array physical; do
    grep -q "memory(.*kind=$kind" view || fail "no memory of kind $kind: $(grep memory view)"
done

# Memory that a texture names is there, though it is gone before the recording begins.
late 77 kinds
tsview t.sbt | grep -q 'cuTexObjectCreate(.*RESOURCE_TYPE_LINEAR' || fail "no texture of linear memory"

# The same in the middle of a recording.
rm -f t.sbt
TS_CHECKPOINT=80 record t.sbt kinds 30 >record.out
plain kinds 30 >plain.out
cmp plain.out record.out || fail "checkpoints changed the output"
status 0 replay t.sbt
first=$(tsview t.sbt | awk '/checkpoint_end/ && !seq { seq = $1 } END { print seq }')
status 0 replay t.sbt --range "$((first + 1)):" --grain=sync --json
mv out from
status 0 replay t.sbt --range "$((first + 1)):" --grain=sync --json --from-checkpoint=none
[ "$(field from checkpoint)" -gt 0 ] || fail "not from a checkpoint: $(cat from)"
[ "$(field from checksum_count)" -gt 0 ] || fail "nothing was verified: $(cat from)"
for key in verdict checksum_count difference_count digest; do
    [ "$(field from $key)" = "$(field out $key)" ] || fail "other $key: $(cat from out)"
done
