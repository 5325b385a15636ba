#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a device that finishes late and leaves something else no replay says "same", whatever way the program has
# waited: for fences, queues, the device, semaphores, not at all before it frees memory.
. "$(dirname "$0")/vulkan_util.sh"

# wrong NAME COMMAND...: recorded on the good device with the settings that are exported, replayed on the bad one
wrong() {
    chosen 3 || return 0
    name=$1
    shift
    record_vulkan "$name.sbt" timeout 60 "$@" >"$name.out" || fail "$name: does not end well"
    for option in '' --grain=command --grain=sync; do
        VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER=wrong \
            tsreplay --timeout 60 $option "$name.sbt" >out 2>err && fail "$name $option: $(cat out)"
        ! grep -q 'all [1-9][0-9]* checksums equal' out || fail "$name $option: $(cat out)"
    done
    VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER= status 0 tsreplay "$name.sbt"
}

for TS_CHECKSUM in off sync submit; do
    export TS_CHECKSUM
    wrong batches "$TEST_VULKAN/vk_truth" batches 1
    wrong batches2 "$TEST_VULKAN/vk_truth" batches 2
    wrong stages "$TEST_VULKAN/vk_truth" stages
    wrong unread "$TEST_VULKAN/vk_truth" unread
    wrong keep "$TEST_VULKAN/vk_truth" unread keep
    wrong fence "$TEST_VULKAN/vk_modes" plain
    wrong zeros "$TEST_VULKAN/vk_host" zeros
    wrong chain "$TEST_BUILD/vk_chain" self
done
