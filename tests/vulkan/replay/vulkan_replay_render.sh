#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rendering without render passes (suspended, resumed, with secondary command buffers), and devices as a
# group: computed again, looked at in between, nothing to complain of.
. "$(dirname "$0")/vulkan_util.sh"
for mode in dynamic group; do
    "$TEST_VULKAN/vk_render" $mode >plain.out
    record_vulkan $mode.sbt "$TEST_VULKAN/vk_render" $mode >$mode.out
    cmp plain.out $mode.out || fail "recording changed $mode"
    all_equal 1 $mode.sbt
    status 0 tsreplay --check=2 $mode.sbt
    if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
        all_equal 1 $mode.sbt --validate
        [ "$(field out validation_count)" = 0 ] || fail "validation errors in $mode: $(cat err)"
    fi
done
# A secondary command buffer of the second of three parts of one rendering is cut off; then the image that
# came out of all three is looked at.
seq_of() {
    tsview --json --calls="$1" dynamic.sbt | sed -n 's/^{"seq":\([0-9]*\),.*/\1/p' | head -1
}
status 0 tsreplay --dump-resources="$(seq_of vkCmdClearAttachments):cut" dynamic.sbt
status 0 tsreplay --dump-resources="$(seq_of vkCmdCopyImageToBuffer):dump" dynamic.sbt
pixel() { # X: of row 10
    ffmpeg -loglevel error -i dump/image-1-level0-layer0-color.png -vf "crop=1:1:$1:10" -f rawvideo \
        -pix_fmt rgb24 - | od -An -tx1 | tr -d ' \n'
}
[ "$(pixel 3)$(pixel 16)$(pixel 28)$(pixel 10)" = 0000ff0000800000ffff0000 ] || fail "$(pixel 3) $(pixel 16) $(pixel 28)"
status 0 tracesmith trim --whole -o whole.sbt group.sbt
all_equal 1 whole.sbt
