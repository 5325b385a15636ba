#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that learns by a sync file that the device is done reads what the device wrote, also when it is recorded;
# and what it writes from then on reaches no device earlier in a replay.
. "$(dirname "$0")/vulkan_util.sh"

export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json"
behind=$TEST_VULKAN/vk_sync_file.so
test_driver=fds

# sync FENCE|SEMAPHORE WAY: recorded with the settings that are exported
sync() {
    what="$* TS_VK_MEMORY=$TS_VK_MEMORY TS_CHECKSUM=$TS_CHECKSUM"
    LD_PRELOAD=$behind TS_TEST_DRIVER=$test_driver timeout 60 "$TEST_VULKAN/vk_sync" "$@" >plain.out || fail "$what: fails without us"
    LD_PRELOAD="$TEST_CAPTURE $behind" TS_OUTPUT=sync.sbt TS_TEST_DRIVER=$test_driver,late timeout 60 "$TEST_VULKAN/vk_sync" "$@" \
        >sync.out || fail "$what: does not end well"
    cmp plain.out sync.out || fail "$what: recording changed the output: $(cat sync.out)"
    tracesmith check sync.sbt
    [ "$2" = import ] || tsview sync.sbt | grep -q 'complete(' || fail "$what: nothing says that the program knew"
    for device in $test_driver $test_driver,late; do
        export TS_TEST_DRIVER=$device
        case $TS_VK_MEMORY-$TS_CHECKSUM in
        pages-off) status 3 tsreplay --timeout 60 sync.sbt ;; # nothing to compare
        *) all_equal 4 sync.sbt --timeout 60 ;;
        esac
    done
    export TS_TEST_DRIVER=$test_driver,late,wrong
    tsreplay --timeout 60 sync.sbt >out 2>err && fail "$what: same on a wrong device: $(cat out)"
    unset TS_TEST_DRIVER
    rm sync.sbt
}

for TS_VK_MEMORY in auto pages; do
    export TS_VK_MEMORY
    for TS_CHECKSUM in off submit; do
        export TS_CHECKSUM
        for of in fence semaphore; do
            for way in poll select epoll dup merge info syscall import signal; do
                [ "$TS_VK_MEMORY-$TS_CHECKSUM" = auto-off ] || [ "$way" = poll ] || [ "$way" = import ] || continue
                chosen 4 || continue
                sync $of $way
            done
        done
    done
done

# Some batches of a submit are known to be complete, and its others wait for what the program does then.
export TS_VK_MEMORY=auto TS_CHECKSUM=off
test_driver=fds,parts
for way in poll dup merge; do
    sync batch $way
done
# What a child of vfork() closes are its own descriptors.
test_driver=fds
sync fence vfork
# Recording ends before the work is sent: what it closes then are not the program's descriptors.
LD_PRELOAD="$TEST_CAPTURE $behind" TS_OUTPUT=stopped.sbt TS_STOP_CALL=44 TS_TEST_DRIVER=fds "$TEST_VULKAN/vk_sync" fence poll >sync.out ||
    fail "stopped: does not end well"
LD_PRELOAD=$behind TS_TEST_DRIVER=fds "$TEST_VULKAN/vk_sync" fence poll >plain.out || fail "stopped: fails without us"
cmp plain.out sync.out || fail "stopped: recording changed the output"
# A program that forbids itself, on pain of death, what recording would look with goes on, and sees what the device
# wrote; of the rest there is no trace.
LD_PRELOAD=$behind TS_TEST_DRIVER=fds "$TEST_VULKAN/vk_sync" fence sandbox >plain.out || fail "sandbox: fails without us"
LD_PRELOAD="$TEST_CAPTURE $behind" TS_OUTPUT=sandbox.sbt TS_TEST_DRIVER=fds "$TEST_VULKAN/vk_sync" fence sandbox >sync.out ||
    fail "sandbox: does not end well"
cmp plain.out sync.out || fail "sandbox: recording changed the output"
tracesmith check sandbox.sbt
TS_TEST_DRIVER=fds status 2 tsreplay sandbox.sbt
# Nobody knows how to wait for some stages of a batch: the trace says so.
LD_PRELOAD=$behind TS_TEST_DRIVER=fds "$TEST_VULKAN/vk_sync" stages poll >plain.out || fail "stages: fails without us"
LD_PRELOAD="$TEST_CAPTURE $behind" TS_OUTPUT=stages.sbt TS_TEST_DRIVER=fds,late "$TEST_VULKAN/vk_sync" stages poll >sync.out ||
    fail "stages: does not end well"
cmp plain.out sync.out || fail "stages: recording changed the output"
TS_TEST_DRIVER=fds,late status 2 tsreplay stages.sbt

# Numbers of descriptors are no content: the second recording has others.
export TS_VK_MEMORY=auto TS_CHECKSUM=off TS_TEST_DRIVER=fds
for of in fence semaphore; do
    for trace in first.sbt second.sbt; do
        LD_PRELOAD="$TEST_CAPTURE $behind" TS_OUTPUT=$trace timeout 60 "$TEST_VULKAN/vk_sync" $of import >sync.out
        exec 3</dev/null 4</dev/null 5</dev/null
    done
    exec 3<&- 4<&- 5<&-
    tsview first.sbt | grep -o 'p\?[Ff]d=[0-9]*' >first.fds
    tsview second.sbt | grep -o 'p\?[Ff]d=[0-9]*' >second.fds
    ! cmp -s first.fds second.fds || fail "the numbers are the same: $(cat first.fds)"
    status 0 tsdiff first.sbt second.sbt
    rm first.sbt second.sbt
done
