#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A range from the nearest checkpoint is the range that runs after everything before it: the same
# verdict, the same bytes of all memory at each synchronisation. What was wrong before the checkpoint
# is not noticed, what is wrong inside the range is.
. "$(dirname "$0")/../util.sh"

# both TRACE OPTION...: from a checkpoint and without; the numbers must agree
both() {
    status 0 replay "$@" --json
    mv out from
    status 0 replay "$@" --json --from-checkpoint=none
    for key in verdict checksum_count difference_count digest; do
        [ "$(field from $key)" = "$(field out $key)" ] || fail "$*: other $key: $(cat from out)"
    done
    [ "$(field from checkpoint)" -gt 0 ] || fail "$*: not from a checkpoint: $(cat from)"
    [ "$(field from jumped_count)" -gt 0 ] || fail "$*: nothing was skipped"
    [ "$(field out checkpoint)" = 0 ] || fail "$*: --from-checkpoint=none did"
    [ "$(field from command_count)" -lt "$(field out command_count)" ] || fail "$*: no shorter way"
}

# At each synchronisation, if it can be: how far apart they are must not depend on how busy the machine is.
plain rounds 40 10 >plain.out
TS_CHECKPOINT=1 record t.sbt rounds 40 10 >record.out
cmp plain.out record.out || fail "checkpoints changed the program's output"
tracesmith check t.sbt
tsview t.sbt | grep -q 'checkpoint_end(number=3' || fail "no third checkpoint"
tracesmith info t.sbt | grep -q 'capture.checkpoints' || fail "the metadata do not tell"
status 0 replay t.sbt

both t.sbt --range 200:300
both t.sbt --range 350:450 --grain=sync
both t.sbt --range 500: --grain=sync
both t.sbt --range 350:450 --streams=2
behind=$(tsview t.sbt | awk '/checkpoint_end\(number=2,/ { print $1 + 5 }')
status 0 replay t.sbt --range "$behind:$((behind + 100))"
grep -q 'from checkpoint 2 (record' out || fail "the result does not say from where: $(cat out)"

# One byte changed in the array's first filling, which is before all checkpoints, and in its second.
fillings=$(tsview t.sbt | awk '/cuMemcpy2D_v2/ { n++; if (/srcMemoryType=CU_MEMORYTYPE_HOST/) print n ":" $1 }')
first=$(echo "$fillings" | sed -n '1s/:.*//p')
second=$(echo "$fillings" | sed -n '2s/:.*//p')
second_seq=$(echo "$fillings" | sed -n '2s/.*://p')
"$TEST_PROGRAMS/edit_trace" t.sbt edited-1.sbt cuMemcpy2D_v2 "$first" 3
"$TEST_PROGRAMS/edit_trace" t.sbt edited-2.sbt cuMemcpy2D_v2 "$second" 3
before=$(tsview t.sbt |
    awk -v s="$second_seq" '/checkpoint_end/ && $1 < s { seq = $1 } END { print seq }')
differs() {
    replay "$@" --json --keep-going >out 2>err || true
    [ "$(field out difference_count)" -gt 0 ]
}
differs edited-2.sbt --range "$((before + 1)):" || fail "what is wrong inside the range was not found"
differs edited-1.sbt --range "$((before + 1)):" && fail "found what was wrong before the checkpoint"
differs edited-1.sbt --range "$((before + 1)):" --from-checkpoint=none ||
    fail "the way from the beginning did not find what is wrong there"

