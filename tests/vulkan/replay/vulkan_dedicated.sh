#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory that is made for one buffer or image, and that the host cannot map (vulkan_kinds has what is computed in it):
# nothing else is bound to it, which this driver does not let pass. Where the driver requires that it is made so, what
# is in it is not compared, and the trace says so.
. "$(dirname "$0")/vulkan_util.sh"
export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json"

for kind in storage image; do
    for settings in TS_CHECKSUM=submit TS_CHECKPOINT=1; do
        for like in discrete,local discrete,local,dedicated; do
            what="$kind $settings $like"
            TS_TEST_DRIVER=$like record_vulkan made.sbt env $settings "$TEST_BUILD/vk_kinds" $kind fence dedicated >made.out ||
                fail "$what: does not end well"
            tsview made.sbt >made.view
            case $settings-$like in
            *submit*,dedicated)
                grep -q 'is not hashed' made.view || fail "$what: nothing says what is left out"
                TS_TEST_DRIVER=$like status 0 tsreplay made.sbt # what the program copies from is compared
                ;;
            *submit*)
                TS_TEST_DRIVER=$like all_equal 1 made.sbt
                TS_TEST_DRIVER=$like,wrong status 1 tsreplay made.sbt
                # Recorded where it could be looked at, replayed where it cannot.
                TS_TEST_DRIVER=discrete,local,dedicated status 2 tsreplay made.sbt
                ;;
            *,dedicated) grep -q 'a checkpoint without memory' made.view || fail "$what: nothing says what is left out" ;;
            *) ! grep 'a checkpoint without memory' made.view || fail "$what: memory is left out" ;;
            esac
            rm made.sbt
        done
    done
done
