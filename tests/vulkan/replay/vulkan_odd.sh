#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Small programs for what takes another driver than there is, on one that looks like it: recording
# changes nothing that they print, and every recorded result is computed again.
. "$(dirname "$0")/vulkan_util.sh"
export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json"

# odd MODE DRIVER COUNT [OPTION...]: so many results, exactly
odd() {
    export TS_TEST_DRIVER=$2
    "$TEST_VULKAN/vk_odd" "$1" >plain.out
    record_vulkan "$1.sbt" "$TEST_VULKAN/vk_odd" "$1" >"$1.out"
    cmp plain.out "$1.out" || fail "recording changed $1 on $2"
    mode=$1 wanted=$3
    shift 3
    all_equal "$wanted" "$mode.sbt" "$@"
    [ "$(field out checksum_count)" = "$wanted" ] || fail "$mode: $(cat out)"
}

odd queues queues 3 # what other queues did is known to be complete by their semaphores
status 0 tsreplay --check=2 queues.sbt
[ "$(tsview queues.sbt | grep -c ' vkQueueSubmit(')" = 12 ] || fail "$(tsview queues.sbt)"
all_equal 3 queues.sbt --streams=0,1,2,3
odd queues queues,discrete 3
# Of queues that have memory of their own only what is wanted does its work; waits are kept.
odd apart queues 6
for stream in 0 1; do # the last of stream 1 is not needed for stream 0 at all
    all_equal 3 apart.sbt --streams=$stream
    [ "$(field out hollow_count)" = $((2 + stream)) ] || fail "not hollow: $(cat out)"
done
status 0 tsreplay --streams=1 apart.sbt
grep -q '3 submits of other streams did nothing' err || fail "$(cat err)"
all_equal 6 apart.sbt --streams=0,1
[ "$(field out hollow_count)" = 0 ] || fail "hollow: $(cat out)"
all_equal 1 queues.sbt --streams=3
[ "$(field out hollow_count)" = 0 ] || fail "they share their words: $(cat out)"
odd devices '' 12 # of each device when it is waited for, whatever another one is doing
odd devices queues 12
odd same '' 1
odd same same 1
grep -q 'same 1' same.out || fail "the driver gives different handles"
odd order '' 1
# Of all that describes Vulkan (88 KiB) there is only what the trace needs.
[ "$(stat -c %s order.sbt)" -lt 40000 ] || fail "$(tracesmith info order.sbt)"
[ ! -e order.sbt.types ] || fail "what was kept for a crash is still there"
odd queries '' 1
# Times in memory are others each time: that is said, and no difference.
odd times '' 8
[ "$(field out timed_count)" = 5 ] || fail "$(cat out)"
status 0 tsreplay --check=2 times.sbt
status 0 tsreplay times.sbt
grep -q 'timestamps of the GPU' err || fail "$(cat err)"
# What lies beside them, and what is written over them later, is compared.
odd times_over '' 5
[ "$(field out timed_count)" = 1 ] || fail "$(cat out)"
odd sparse sparse 1
# What the recorded driver let pass passes on it again, with a word of warning; elsewhere it is refused.
odd liberties '' 1
grep -q 'says it cannot do: images of VK_FORMAT_R8G8B8A8_UNORM with 2 samples' err || fail "$(cat err)"
export TS_TEST_DRIVER=discrete
status 2 tsreplay liberties.sbt
grep -q 'lacks what the trace needs: images' err || fail "$(cat err)"
odd lost lost=2 1 # the submits that were refused are not sent again
export TS_TEST_DRIVER=rays
record_vulkan rays.sbt "$TEST_VULKAN/vk_odd" rays >rays.out
status 3 tsreplay --json rays.sbt # nothing to compare
[ "$(field out command_count)" = 1 ] || fail "$(cat out err)"
tsview --json rays.sbt | grep -q '"maxVertex":99.*"primitiveCount":12' || fail "geometry is missing"
record_vulkan named.sbt "$TEST_VULKAN/vk_odd" named >named.out

# A device that is lost while it replays: the last submit is named.
export TS_TEST_DRIVER=lost=3
status 2 tsreplay devices.sbt
grep -q 'VK_ERROR_DEVICE_LOST; last on stream' err || fail "$(cat err)"

# Memory behind a descriptor, which nothing is done with.
export TS_TEST_DRIVER=
record_vulkan descriptors.sbt "$TEST_VULKAN/vk_odd" descriptors >descriptors.out
[ "$(tsview --json descriptors.sbt | head -n 1 | field /dev/stdin tainted)" = 0 ] || fail "tainted"
status 3 tsreplay --json descriptors.sbt # nothing to compare
[ "$(field out verdict)" = nothing_to_compare ] || fail "$(cat out err)"

# A driver was opened, and no instance was seen: a word at the end.
cat >open.py <<'END'
import ctypes
ctypes.CDLL("libvulkan_lvp.so").vk_icdGetInstanceProcAddr
END
LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=opened.sbt python3 open.py 2>opened.err
grep -qi 'vulkan' opened.err || fail "no warning: $(cat opened.err)"
