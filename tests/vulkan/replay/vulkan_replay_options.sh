#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ways to replay: again and again, in part, one at a time, compared with each other, on no device.
. "$(dirname "$0")/vulkan_util.sh"
record_mode plain
record_mode instances
all_equal 12 plain.sbt --loop=3
all_equal 4 plain.sbt --pace=stepped
all_equal 4 plain.sbt --grain=command
all_equal 4 plain.sbt --device=0
# By part of its name, and by its UUID, also of several.
all_equal 4 plain.sbt --gpu=LLVMpipe
status 2 tsreplay --gpu='no such' plain.sbt
grep -q 'no device no such; .* has 0: "llvmpipe' err || fail "$(cat err)"
uuid=$(sed 's/.*UUID //' err)
all_equal 4 plain.sbt --gpu="$uuid"
all_equal 4 plain.sbt --gpu="$(echo "$uuid" | sed 's/^\(........\)\(.*\)/\1-\2/' | tr a-f A-F)"
status 2 tsreplay --gpu="${uuid}0" plain.sbt
# Of several devices of one name, one that has what the trace needs.
VK_ICD_FILENAMES=$TEST_VULKAN/vk_driver.json TS_TEST_DRIVER=sparse \
    record_vulkan sparse.sbt "$TEST_VULKAN/vk_odd" sparse >/dev/null
status 2 tsreplay sparse.sbt
grep -q 'lacks what the trace needs: feature sparseBinding, queue family 1' err || fail "$(cat err)"
for list in $VK_ICD_FILENAMES:$TEST_VULKAN/vk_driver.json $TEST_VULKAN/vk_driver.json:$VK_ICD_FILENAMES; do
    TS_TEST_DRIVER=sparse VK_ICD_FILENAMES=$list all_equal 1 sparse.sbt
done
all_equal 1 instances.sbt --streams=1
[ "$(field out checksum_count)" = 1 ] || fail "another stream was compared, too"
status 0 tsreplay --check=2 plain.sbt
grep -q 'run_to_run' out
status 0 tsreplay --dry-run plain.sbt
status 2 tsreplay --device=9 plain.sbt
grep -q 'no device 9' err || fail "$(cat err)"
status 2 tsreplay --library=/nowhere/libvulkan.so plain.sbt
# A driver without a loader gives the same.
for library in /usr/lib/x86_64-linux-gnu/libvulkan_lvp.so; do
    [ ! -f $library ] || all_equal 4 plain.sbt --library=$library
done
