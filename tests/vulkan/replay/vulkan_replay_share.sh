#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What goes through file descriptors: memory of two devices of one program is one memory in replay, too;
# what another process has put there is in the trace; semaphores and fences of others are signalled.
. "$(dirname "$0")/vulkan_util.sh"

# share MODE: leaves MODE-*.sbt, a trace for each process
share() {
    "$TEST_VULKAN/vk_share" "$1" >plain.out
    record_vulkan "$1-%p.sbt" "$TEST_VULKAN/vk_share" "$1" >"$1.out"
    cmp plain.out "$1.out" || fail "recording changed what $1 computes: $(cat "$1.out")"
}

# untainted CHECKSUMS TRACE
untainted() {
    all_equal "$1" "$2"
    [ "$(field out tainted_count)" = 0 ] || fail "tainted: $2: $(cat out)"
}

share devices
untainted 3 devices-*.sbt
status 0 tsreplay --check=2 devices-*.sbt
# The second import has another number, which the trace says.
tracesmith info --json devices-*.sbt | grep -q '"vulkan.import.VkDeviceMemory.3"' ||
    fail "$(tracesmith info --json devices-*.sbt)"
status 0 tracesmith trim --range submits:4: -o part.sbt devices-*.sbt
all_equal 2 part.sbt

share freed
all_equal 1 freed-*.sbt

share processes
set -- processes-*.sbt
[ $# = 2 ] || fail "not a trace for each process: $*"
for trace in processes-*.sbt; do
    untainted 3 "$trace"
done
for trace in processes-*.sbt; do
    tsview "$trace"
done | grep -q 'host_write(address=0x80000' || fail "nothing of the other's memory"

export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER=fds
share signals
untainted 3 signals-*.sbt
status 0 tsreplay --check=2 signals-*.sbt
share outside
for trace in outside-*.sbt; do
    if tsview "$trace" | grep -q vkQueueSubmit; then
        untainted 4 "$trace"
    fi
done
