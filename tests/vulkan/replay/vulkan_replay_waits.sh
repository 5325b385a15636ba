#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every way in which a program can learn that the GPU is done, followed by a write of the host into what
# the GPU has read: the replay waits as well, whatever the order.
. "$(dirname "$0")/vulkan_util.sh"
for wait in fence fence_status queue device value counter event query query_wait partial availability; do
    chosen 3 || continue
    "$TEST_BUILD/vk_staging" 4 $wait >plain.out
    record_vulkan t.sbt "$TEST_BUILD/vk_staging" 4 $wait >record.out
    cmp plain.out record.out || fail "$wait: recording changed the output"
    for option in --pace=fast --order=delayed:1 --order=delayed:2 --order=permuted:1; do
        all_equal 1 t.sbt $option --timeout=30
    done
    rm t.sbt
done
