#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs without races print the same whether or not they are recorded, whatever the settings, and replay
# finds what the recording has. TS_TEST_RECORDINGS=100 records the threads so often; 10 times is the suite's share.
. "$(dirname "$0")/vulkan_util.sh"

# truth PROGRAM-ARGUMENTS...: records with the settings that are exported
truth() {
    what="$* TS_VK_MEMORY=$TS_VK_MEMORY TS_CHECKSUM=$TS_CHECKSUM"
    record_vulkan truth.sbt timeout 100 "$TEST_VULKAN/vk_truth" "$@" >truth.out || fail "$what: does not end well"
    cmp plain.out truth.out || fail "$what: recording changed the output"
    case $TS_VK_MEMORY-$TS_CHECKSUM in
    pages-off | hash-off) status 3 tsreplay truth.sbt ;; # nothing to compare
    *) all_equal 1 truth.sbt ;;
    esac
    rm truth.sbt
}

for program in 'batches 1' 'batches 2' stages threads 'bytes 1'; do
    "$TEST_VULKAN/vk_truth" $program >plain.out
    ! grep '^[1-9].* wrong' plain.out || fail "the program itself is wrong"
    for TS_VK_MEMORY in auto shadow pages hash; do
        export TS_VK_MEMORY
        for TS_CHECKSUM in off sync submit; do
            export TS_CHECKSUM
            chosen 5 || continue
            # Work that waits for an event is waited for, 5 s once.
            [ "${program%% *}-$TS_CHECKSUM" = bytes-submit ] && [ "$program-$TS_VK_MEMORY" != 'bytes 1-auto' ] && continue
            truth $program
        done
    done
done
export TS_VK_MEMORY=auto TS_CHECKSUM=off
"$TEST_VULKAN/vk_truth" threads >plain.out
round=0
rounds=${TS_TEST_RECORDINGS:-${TS_TEST_ALL:+10}}
while [ $((round += 1)) -le "${rounds:-3}" ]; do
    truth threads
done

# Nothing is mapped that the device writes, and nothing read: there is something to compare all the same.
for program in 'unread' 'unread keep'; do
    "$TEST_VULKAN/vk_truth" $program >plain.out
    truth $program
    TS_CHECKSUM=submit truth $program
done
TS_VK_RESULTS=0 record_vulkan off.sbt "$TEST_VULKAN/vk_truth" unread >/dev/null
status 3 tsreplay off.sbt
# Each submit's results are looked at, also those that were there before.
TS_CHECKSUM=submit record_vulkan same.sbt "$TEST_VULKAN/vk_truth" same >/dev/null
all_equal 1 same.sbt
# Scattered bytes beside those of the device take few records.
record_vulkan runs.sbt "$TEST_VULKAN/vk_truth" bytes 1 >/dev/null
tsview runs.sbt >runs.out
grep -q 'host_runs(' runs.out || fail "no host_runs"
[ "$(grep -c 'host_runs(\|host_write(' runs.out)" -lt 400 ] || fail "a record for each byte"
python3 "$TEST_SOURCE/tests/decoder/sbt.py" runs.sbt >decoded.out
tsview --json runs.sbt | cmp - decoded.out || fail "the second decoder says something else"
