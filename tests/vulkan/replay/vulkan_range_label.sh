#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges by label: nested ones, the second of a name, in a secondary command buffer, over several submits.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan t.sbt "$TEST_BUILD/vk_labels" >/dev/null
# label NAME SUBMITS: so many submits are in it
label() {
    status 0 tsview --json --range "label:$1" t.sbt
    count=$(grep -c '"call":"vkQueueSubmit"' out || true)
    [ "$count" = "$2" ] || fail "$1: $count submits, not $2"
}
label outer 1
label inner#2 1
label deep 1
label open 4
label outer#2 1
all_equal 4 t.sbt --range label:open
for name in nothing outer#3 deep#2; do
    status 2 tsreplay --range label:$name t.sbt
    grep -q "tsview --tree" err || fail "$name: $(cat err)"
done
