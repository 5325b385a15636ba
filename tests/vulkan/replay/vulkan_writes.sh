#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_CHECKSUM=submit: whatever way a command writes memory, it is in the checksums of its submit, whether or not the
# host can map the memory; and a replay finds it equal.
. "$(dirname "$0")/vulkan_util.sh"

# writes ARGUMENTS...: each submit has results
writes() {
    what="$* driver ${TS_TEST_DRIVER:-none} checksum $TS_CHECKSUM"
    timeout 100 "$TEST_VULKAN/vk_writes" "$@" >plain.out || fail "$what: fails without us"
    record_vulkan writes.sbt timeout 100 "$TEST_VULKAN/vk_writes" "$@" >writes.out || fail "$what: does not end well"
    cmp plain.out writes.out
    count=$(sed -n 's/ submits$//p' writes.out)
    found=$(tsview --json writes.sbt | grep '"checksum"' | grep -o '"of_position":[0-9]*' | sort -u | wc -l)
    [ "$found" = "$count" ] || fail "$what: $found of $count submits have results: $(tsview writes.sbt | grep checksum)"
    all_equal "$count" writes.sbt
    if [ "$TS_CHECKSUM" = submit ]; then
        [ "$TS_TEST_DRIVER" = discrete ] || status 0 tsreplay --check=1 writes.sbt
        status 0 tracesmith trim --range "submits:1:2" -o part.sbt writes.sbt
        all_equal 1 part.sbt
        rm part.sbt
    fi
    rm writes.sbt
}

for TS_CHECKSUM in submit sync; do
    export TS_CHECKSUM
    for TS_TEST_DRIVER in '' discrete discrete,local; do
        export TS_TEST_DRIVER
        chosen 2 || continue
        export VK_ICD_FILENAMES="${TS_TEST_DRIVER:+$TEST_VULKAN/vk_driver.json}"
        [ "$VK_ICD_FILENAMES" ] || VK_ICD_FILENAMES=$driver
        writes
        writes push
    done
done
