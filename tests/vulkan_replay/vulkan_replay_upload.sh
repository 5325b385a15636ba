#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Large writes to mapped memory, which a replay may carry out in parts: the device, which copies them, finds
# the bytes that it found. 64 MiB in two contents that take turns are stored twice at most.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan all.sbt "$TEST_VULKAN/vk_upload" 1 2 3 copy >/dev/null
all_equal 3 all.sbt
[ "$(stat -c %s all.sbt)" -lt 140000000 ] || fail "$(stat -c %s all.sbt) bytes"
