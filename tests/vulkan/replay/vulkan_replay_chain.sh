#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Work sent before the host signals what it waits for, which signals more itself: no replay waits for a
# queue that can get no further, and a recording that looks at each submit knows which can end.
. "$(dirname "$0")/vulkan_util.sh"

# chain MODE CHECKSUM: leaves MODE-CHECKSUM.sbt
chain() {
    timeout 60 "$TEST_BUILD/vk_chain" "$1" | sort >plain.out
    TS_CHECKSUM=$2 record_vulkan "$1-$2.sbt" timeout 60 "$TEST_BUILD/vk_chain" "$1" >out ||
        fail "$1 hangs when it is recorded"
    ! tracesmith info "$1-$2.sbt" | grep -q 'within 5 seconds' || fail "recording $1 waited for the program"
    sort out | cmp - plain.out || fail "recording changed $1"
    for option in --grain=readback --grain=command --pace=stepped; do
        all_equal "$3" "$1-$2.sbt" $option --timeout=30
    done
    status 0 tsreplay --check=2 --timeout=30 "$1-$2.sbt"
}

for checksum in submit sync; do
    chain self $checksum 1
    VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER=queues chain queues $checksum 1
done
