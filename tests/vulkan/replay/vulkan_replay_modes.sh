#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Small programs, one awkward thing each: recorded, replayed, every recorded result is computed again,
# and the validation layer has nothing to say of what replay does.
. "$(dirname "$0")/vulkan_util.sh"
for mode in plain read template secondary instances threads; do
    record_mode $mode
    all_equal 1 $mode.sbt
    [ "$mode" != plain ] || all_equal 4 $mode.sbt
    if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
        all_equal 1 $mode.sbt --validate
        [ "$(field out validation_count)" = 0 ] || fail "validation errors in $mode: $(cat err)"
    fi
done
# This one leaves an update template behind: that the layer is there at all is seen by its complaint.
record_mode push
all_equal 1 push.sbt
if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
    all_equal 1 push.sbt --validate
    [ "$(field out validation_count)" = 1 ] || fail "the validation layer saw nothing"
fi
