#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The address of a buffer in a push constant, where nobody can translate it: the buffer must lie where it
# lay. And work that was sent before the host let it begin.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan address.sbt "$TEST_BUILD/vk_address" >out
grep -q 'sum 530944' out || fail "$(cat out)"
all_equal 1 address.sbt
[ "$(field out translated_count)" = 0 ] || fail "the buffer lies elsewhere"
all_equal 1 address.sbt --grain=command
all_equal 3 address.sbt --loop=3
if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
    all_equal 1 address.sbt --validate
    [ "$(field out validation_count)" = 0 ] || fail "validation errors: $(cat err)"
fi

# A driver that can choose addresses again is asked to, one that is no processor and cannot is not: then
# the buffer lies elsewhere, which is said.
export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER=discrete,addresses
record_vulkan opaque.sbt "$TEST_BUILD/vk_address" >out
grep -q 'sum 530944' out || fail "$(cat out)"
tsview opaque.sbt | grep -q vkGetDeviceMemoryOpaqueCaptureAddress || fail "nothing to ask for"
all_equal 1 opaque.sbt
[ "$(field out translated_count)" = 0 ] || fail "the driver was not asked to choose it again"
all_equal 2 opaque.sbt --loop=2
TS_TEST_DRIVER=discrete tsreplay --json opaque.sbt >out || :
[ "$(field out translated_count)" -ge 1 ] || fail "addresses that nobody could choose: $(cat out)"
