#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the host does while work is under way, recorded with each submit waited for and looked at: work
# that waits for the host does not hold up the program, nor a replay that waits for each command; and
# what a submit read is what it reads again, whatever the host wrote right after it was sent.
. "$(dirname "$0")/vulkan_util.sh"

"$TEST_VULKAN/vk_host" event >plain.out
export TS_CHECKSUM=submit
record_vulkan event.sbt timeout 60 "$TEST_VULKAN/vk_host" event >event.out || fail "it hangs"
cmp plain.out event.out || fail "recording changed it"
for option in --grain=readback --grain=command --pace=stepped; do
    all_equal 2 event.sbt $option --timeout=30
done
status 0 tsreplay --check=2 --timeout=30 event.sbt

# Zeros that the program wrote are no memory that nobody wrote.
record_vulkan zeros.sbt "$TEST_VULKAN/vk_host" zeros >zeros.out
status 0 tsreplay --check=2 zeros.sbt

# On a machine so slow that the first submit takes 5 seconds it is not waited for, as the trace then says.
record_vulkan write.sbt "$TEST_VULKAN/vk_host" write >write.out
tsview write.sbt >calls
if ! grep -q 'work that was not done within 5 seconds' calls; then
    for round in 1 2 3; do
        all_equal 1 write.sbt
    done
fi

# Of its own memory, too, that it has imported, what it wrote before the event is there before it.
unset TS_CHECKSUM
record_vulkan import.sbt "$TEST_VULKAN/vk_host" import >import.out
all_equal 1 import.sbt
for mode in pages hash; do # nor are there shadows of what it has mapped
    TS_VK_MEMORY=$mode record_vulkan $mode.sbt "$TEST_VULKAN/vk_host" event >/dev/null
    tsview $mode.sbt >calls
    [ "$(grep -B1 vkSetEvent calls | grep -c host_write)" = 2 ] || fail "$mode: not before the event"
done
