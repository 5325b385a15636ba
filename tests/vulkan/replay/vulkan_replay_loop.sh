#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A range again and again, each time from the state at its begin: counters that have gone on go back,
# so do semaphores, events, queries, layouts and memory. Only the range is timed.
. "$(dirname "$0")/vulkan_util.sh"
validate=
[ ! -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || validate=--validate
TS_CHECKPOINT=10 record_vulkan t.sbt "$TEST_BUILD/vk_rounds" 40 >/dev/null

# loops TRACE RANGE KEPT: six loops are equal to one, six times; but results of commands before the range,
# which run once where memory is kept
loops() {
    all_equal 1 "$1" --range "$2"
    once=$(field out checksum_count)
    own=$([ "$3" = True ] && own_results "$1" --range "$2" | wc -l || echo "$once")
    all_equal 1 "$1" --range "$2" --loop 6 $validate
    [ "$(field out checksum_count)" = $((once + 5 * own)) ] || fail "$2: not $once, then $own: $(cat out)"
    [ "$(field out loop_count)" = 6 ] || fail "$2: not six times: $(cat out)"
    [ "$(field out loop_kept)" = "$3" ] || fail "$2: set back: not $3: $(cat out)"
    [ "$(field out validation_count)" = 0 ] || fail "$2: validation errors: $(cat err)"
    [ "$(field out loop_min_ns)" -le "$(field out loop_max_ns)" ] || fail "no times: $(cat out)"
}
loops t.sbt submits:12:14 True
loops t.sbt submits:5:30 True
# What was sent as it was before the range is recorded anew in it: all has to be made again.
loops t.sbt "$(tsview t.sbt | awk '/ vkQueueSubmit/ { print $1 }' | sed -n 13p):$(tsview t.sbt |
    awk '/ vkQueueSubmit/ { print $1 }' | sed -n 16p)" False
# Objects come and go in it: the same.
loops t.sbt submits:30: False
