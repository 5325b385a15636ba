#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Correct programs of random steps: they read what they read without us, whatever the settings; what they have read
# from the device is in the trace as results, and a replay finds it equal. TS_TEST_PROGRAMS=500 makes so many.
. "$(dirname "$0")/vulkan_util.sh"

# no_difference TSREPLAY-ARGUMENTS...
no_difference() {
    timeout 100 tsreplay "$@" >part.out 2>&1 || [ $? = 3 ] || grep -q 'cannot tell: .*mapped memory was written' part.out ||
        fail "$what: $*: $(cat part.out)"
}

# steps LEAST SEED...: records with the settings that are exported; at least so many results
steps() {
    least=$1
    shift
    what="$* TS_VK_MEMORY=$TS_VK_MEMORY TS_CHECKSUM=$TS_CHECKSUM driver ${TS_TEST_DRIVER:-}"
    record_vulkan steps.sbt timeout 100 "$TEST_VULKAN/vk_steps" "$@" >steps.out || fail "$what: does not end well"
    cmp plain.out steps.out || fail "$what: recording changed the output"
    case $TS_VK_MEMORY in
    auto | shadow) all_equal "$least" steps.sbt ;;
    # What the device writes into mapped memory is the program's there.
    *) no_difference steps.sbt ;;
    esac
}

# Memory is mapped and looked at while the device writes there: whose bytes those are is not known, and no difference.
for attempt in 1 ${TS_TEST_ALL:+2} ${TS_TEST_ALL:+3 4 5 6}; do
    for TS_VK_MEMORY in pages hash; do
        what="146 120, $TS_VK_MEMORY, attempt $attempt"
        TS_VK_MEMORY=$TS_VK_MEMORY record_vulkan mixed.sbt "$TEST_VULKAN/vk_steps" 146 120 >mixed.out
        no_difference mixed.sbt
        rm mixed.sbt
    done
done

seed=0
programs=${TS_TEST_PROGRAMS:-${TS_TEST_ALL:+4}}
while [ $((seed += 1)) -le "${programs:-2}" ]; do
    arguments="$seed 300"
    [ "$seed" -gt 1 ] || arguments=remap
    export VK_ICD_FILENAMES="$driver" TS_VK_MEMORY=auto TS_CHECKSUM=off TS_TEST_DRIVER=
    "$TEST_VULKAN/vk_steps" $arguments >plain.out
    grep -q '^0 words are wrong' plain.out || fail "the program itself is wrong"
    reads=$(sed -n 's/^read //p' plain.out)
    for TS_VK_MEMORY in auto pages hash; do
        for TS_CHECKSUM in off sync submit; do
            chosen 2 || continue
            [ "$TS_VK_MEMORY" = auto ] && least=$reads || least=0
            steps "$least" $arguments
        done
    done
    TS_VK_MEMORY=auto TS_CHECKSUM=off
    VK_ICD_FILENAMES=$TEST_VULKAN/vk_driver.json TS_TEST_DRIVER=discrete,queues
    steps "$reads" $arguments
    VK_ICD_FILENAMES=$driver TS_TEST_DRIVER=
    steps "$reads" $arguments
    # A part may have no result.
    count=$(field out command_count)
    for range in "1:$((count / 2))" "$((count / 2)):$count"; do
        no_difference --range "submits:$range" steps.sbt
    done
    status 0 tracesmith trim --range "submits:$((count / 3)):$((count / 2))" -o part.sbt steps.sbt
    no_difference part.sbt
    no_difference --range "submits:$((count / 3)):$((count / 2))" --loop 3 steps.sbt
    status 0 tsreplay --check steps.sbt
    rm steps.sbt part.sbt
done
