#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One byte of what the program wrote is another one: replay names the submit that computed with it,
# and where its result lies.
. "$(dirname "$0")/vulkan_util.sh"
record_mode plain
# The last one: nothing is written over it before the last submit.
last=$(tsview plain.sbt | grep -c 'host_write(')
"$TEST_PROGRAMS/edit_trace" plain.sbt edited.sbt host_write "$last" 5
status 1 tsreplay edited.sbt
grep -q 'vkQueueSubmit, number 4 on stream 0' out || fail "the submit is not named: $(cat out)"
grep -q 'VkDeviceMemory #1 + 0x0 (VkBuffer #1 + 0x0)' out || fail "the place is not named: $(cat out)"
grep -q 'small_run' out || fail "no stack: $(cat out)"
status 1 tsdiff plain.sbt edited.sbt
