#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A range of a Vulkan trace from the nearest checkpoint is the range that runs after everything before
# it; recording that begins late is complete. Each round of the program needs what the one before has
# left beside memory, too: a layout, a semaphore, an event, a query, a fence. The validation layer
# knows all of these.
. "$(dirname "$0")/vulkan_util.sh"
validate=
[ ! -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || validate=--validate
program=$TEST_BUILD/vk_rounds
"$program" 40 >plain.out

# from_checkpoint COUNT TRACE [OPTION...]: equal, from a checkpoint, and nothing to complain of
from_checkpoint() {
    all_equal "$@" $validate
    [ "$(field out checkpoint)" -gt 0 ] || fail "not from a checkpoint: $*"
    [ "$(field out validation_count)" = 0 ] || fail "validation errors: $*: $(cat err)"
}

TS_CHECKPOINT=10 record_vulkan t.sbt "$program" 40 >record.out
cmp plain.out record.out || fail "checkpoints changed what the program computes"
status 0 tracesmith check t.sbt
[ "$(tsview t.sbt | grep -c checkpoint_end)" -ge 3 ] || fail "there are no checkpoints"
for range in 500:600 620:900 1000:1100; do
    from_checkpoint 1 t.sbt --range $range
    [ "$(field out jumped_count)" -ge 10 ] || fail "nothing was skipped: $(cat out)"
    mv out from
    all_equal 1 t.sbt --range $range --from-checkpoint=none
    for key in verdict checksum_count digest; do
        [ "$(field from $key)" = "$(field out $key)" ] || fail "$range: other $key: $(cat from out)"
    done
done
# What the range does not need is not waited for; what memory holds when it is freed is compared.
status 0 tsreplay t.sbt --range 1190: --from-checkpoint=none --timeout 20

for call in 20 100 200 600; do
    TS_START_CALL=$call record_vulkan late-$call.sbt "$program" 40 >record.out
    cmp plain.out record.out || fail "a late start changed what the program computes"
    status 0 tracesmith check late-$call.sbt
    from_checkpoint 10 late-$call.sbt
done
for mode in pages hash; do # memory that the program has mapped itself is read by copies
    TS_VK_MEMORY=$mode TS_START_CALL=300 record_vulkan $mode.sbt "$program" 40 >record.out
    all_equal 1 $mode.sbt $validate
    [ "$(field out validation_count)" = 0 ] || fail "validation errors: $(cat err)"
done

# Told from outside, a program that runs.
TS_START=paused TS_OUTPUT=p.sbt LD_PRELOAD=$TEST_CAPTURE "$program" 1000000000 >paused.out &
pid=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.2
    ! tsctl start $pid >/dev/null 2>&1 || break
done
sleep 0.3
tsctl stop $pid >/dev/null
kill $pid
wait $pid
from_checkpoint 10 p.sbt
