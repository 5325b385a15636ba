#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory that Vulkan gives away and CUDA maps: both are replayed as one, on memory that they share again, so
# that what a kernel computes wrong is seen in Vulkan's results.
. "$(dirname "$0")/vulkan_util.sh"
export LD_LIBRARY_PATH="$TEST_EMU:${LD_LIBRARY_PATH:-}"
program=$TEST_BUILD/vk_cuda_memory

# same COMMANDS RESULTS TRACE [OPTION...]
same() {
    commands=$1
    results=$2
    shift 2
    status 0 tsreplay --json --once "$@"
    [ "$(field out command_count)" = "$commands" ] || fail "not $commands commands: $(cat out)"
    [ "$(field out checksum_count)" = "$results" ] || fail "not $results comparisons: $(cat out)"
    [ "$(field out tainted_count)" = 0 ] || fail "tainted: $(cat out)"
}

for mode in plain cuda mapped parts late host direct; do
    "$program" $mode >plain.out
    record_vulkan $mode.sbt "$program" $mode >record.out
    cmp plain.out record.out || fail "$mode: recording changed what the program computes"
done
same 9 6 plain.sbt
same 12 9 cuda.sbt # three results are CUDA's
same 9 15 mapped.sbt
same 11 6 parts.sbt
same 8 6 late.sbt
# The program sees what CUDA has done to mapped memory, and CUDA what the program has written there, without a
# call of Vulkan between them; what CUDA did are results.
same 5 6 host.sbt
same 5 6 direct.sbt
tsview cuda.sbt >view.txt
grep -q 'cuImportExternalMemory(.*origin_api=4, origin=VkDeviceMemory#2' view.txt || fail "not whose memory it is: $(cat view.txt)"

# Stores of the kernel are lost: Vulkan's next result is another one, and so is CUDA's own.
for mode in plain cuda mapped parts late host direct; do
    TS_EMU_DROP=3:1 status 1 tsreplay --once $mode.sbt
    grep -q '^difference at record' out && grep -q 'place     VkDeviceMemory' out || fail "$mode: $(cat out)"
done
# What Vulkan computes wrong reaches CUDA's result.
VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER=wrong tsreplay --once --keep-going --json cuda.sbt >out 2>err && fail "wrong, and the same: $(cat out)"
grep -q cuMemcpyDtoH_v2 out || fail "nothing of it in CUDA's result: $(cat out)"

# Another argument of the first kernel, in the trace: the same.
number=$(tsview cuda.sbt | awk '/cuLaunchKernel/ { print $1; exit }')
"$TEST_PROGRAMS/alter_trace" cuda.sbt altered.sbt argument "$number" 1:7
status 1 tsreplay --once altered.sbt
grep -q 'command   vkQueueSubmit, number 2' out || fail "not where Vulkan sees it first: $(cat out)"
# What is shared must be there, and named as it is.
number=$(tsview cuda.sbt | awk '/cuImportExternalMemory/ { print $1; exit }')
for change in "5:1" "5:77" "6:0" "6:77" "3:99999999" "1:2"; do
    rm -f altered.sbt
    "$TEST_PROGRAMS/alter_trace" cuda.sbt altered.sbt slot "$number" $change
    status 2 tsreplay --once altered.sbt
done
rm -f altered.sbt
"$TEST_PROGRAMS/alter_trace" cuda.sbt altered.sbt remove $((number - 1))
status 2 tsreplay --once altered.sbt
grep -q 'VkDeviceMemory #2, which gave no descriptor' err || fail "not what is missing: $(cat err)"

# Other orders that keep the recorded one between the two, hashes after each command, loops.
for option in --order=permuted:1 --order=permuted:2 --order=delayed:1 --grain=command --pace=stepped; do
    same 12 9 cuda.sbt $option
done
same 24 18 cuda.sbt --loop=2
status 0 tsreplay --check=2 cuda.sbt
grep -q '^poison' out || fail "no arms: $(cat out)"

# A part, streams of one API, which need the other; hashes at each wait; checkpoints.
status 0 tsreplay --json --range submits:5: cuda.sbt
same 11 6 cuda.sbt --streams=2
TS_CHECKSUM=submit record_vulkan hashed.sbt "$program" parts >record.out
same 11 30 hashed.sbt
TS_EMU_DROP=3:1 status 1 tsreplay --once hashed.sbt
TS_CHECKPOINT=4 record_vulkan kept.sbt "$program" parts >record.out
status 0 tsreplay --json --range submits:6: kept.sbt
[ "$(field out checkpoint)" -gt 0 ] || fail "not from a checkpoint: $(cat out)"
for first in 2 4 6 8; do
    rm -f part.sbt
    status 0 tracesmith trim --range submits:$first: -o part.sbt cuda.sbt
    status 0 tracesmith check part.sbt
    status 0 tsreplay part.sbt
done
# In this part CUDA alone uses the memory, which Vulkan has.
for mode in host direct; do
    rm -f part.sbt
    status 0 tracesmith trim --range submits:2:3 -o part.sbt $mode.sbt
    status 0 tsreplay part.sbt
done
record_vulkan again.sbt "$program" cuda >record.out
status 0 tsdiff cuda.sbt again.sbt

# Without a shadow nobody knows what is CUDA's.
for mode in pages hash; do
    "$program" host >plain.out
    TS_VK_MEMORY=$mode record_vulkan $mode.sbt "$program" host >record.out
    cmp plain.out record.out || fail "$mode: recording changed what the program computes"
    status 2 tsreplay --once $mode.sbt
    grep -q 'memory that another API has, too, mapped without a shadow' out || fail "$mode: $(cat out)"
done

# Cut off anywhere, the trace is never the same for sure, and nothing crashes.
size=$(wc -c <cuda.sbt)
for part in 3 5 7 8 9; do
    head -c $((size * part / 10)) cuda.sbt >cut.sbt
    code=0
    tsreplay --once cut.sbt >out 2>err || code=$?
    [ $code = 2 ] || fail "cut at $part tenths: $code, $(cat out err)"
done

# What no call of the program gave away: its bytes are there, and nobody knows what others write.
"$program" foreign >plain.out
record_vulkan foreign.sbt "$program" foreign >record.out
cmp plain.out record.out || fail "foreign: recording changed what the program computes"
status 2 tsreplay --json --once foreign.sbt
[ "$(field out checksum_count)" = 2 ] && [ "$(field out difference_count)" = 0 ] || fail "foreign: $(cat out)"
grep -q 'signals and waits of others at an external semaphore' out || fail "foreign: $(cat out)"
grep -q 'writes of others into external memory' out || fail "foreign: $(cat out)"

# A timeline semaphore that both have, on a driver that has such: each waits for the other without the program,
# also where CUDA's wait is sent before what it waits for. Parts that end in the middle of a round end.
export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json" TS_TEST_DRIVER=fds,mirror
for mode in turns ahead; do
    "$program" $mode >plain.out
    record_vulkan $mode.sbt "$program" $mode >record.out
    cmp plain.out record.out || fail "$mode: recording changed what the program computes"
    same 15 3 $mode.sbt
    TS_EMU_DROP=3:1 status 1 tsreplay --once $mode.sbt
    for option in --order=permuted:1 --order=delayed:1 --grain=command --pace=stepped; do
        same 15 3 $mode.sbt $option
    done
    for end in 2 3 4 6 7; do
        code=0
        tsreplay --once --timeout 20 --range "submits::$end" $mode.sbt >out 2>err || code=$?
        [ $code = 0 ] || [ $code = 3 ] || fail "$mode up to $end: $code, $(cat out err)"
    done
    rm -f part.sbt
    status 0 tracesmith trim --range submits:5: -o part.sbt $mode.sbt
    status 0 tsreplay --once part.sbt
done
tsview turns.sbt >view.txt
grep -q 'cuImportExternalSemaphore(.*origin=VkSemaphore#1' view.txt || fail "not whose semaphore it is: $(cat view.txt)"
number=$(tsview turns.sbt | awk '/cuImportExternalSemaphore/ { print $1; exit }')
rm -f altered.sbt
"$TEST_PROGRAMS/alter_trace" turns.sbt altered.sbt remove "$number"
status 2 tsreplay --once altered.sbt
grep -q 'semaphore 1 was made by no record' err || fail "not what is missing: $(cat err)"
rm -f kept.sbt
TS_CHECKPOINT=5 record_vulkan kept.sbt "$program" turns >record.out
status 0 tsreplay --once --json --range submits:9: kept.sbt
[ "$(field out checkpoint)" -gt 0 ] || fail "turns: not from a checkpoint: $(cat out)"
# A driver without such descriptors says so.
VK_ICD_FILENAMES=$driver status 2 tsreplay --once turns.sbt
grep -q VK_KHR_external_semaphore_fd err || fail "not what is missing: $(cat err)"
