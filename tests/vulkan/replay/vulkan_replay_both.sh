#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that uses CUDA and Vulkan: both parts are replayed and compared, also from a checkpoint and
# of a part of the trace.
. "$(dirname "$0")/vulkan_util.sh"
export LD_LIBRARY_PATH="$TEST_EMU:${LD_LIBRARY_PATH:-}"

# both COMMANDS CHECKSUMS TRACE [OPTION...]
both() {
    commands=$1
    checksums=$2
    shift 2
    status 0 tsreplay --json "$@"
    [ "$(field out command_count)" = "$commands" ] || fail "not $commands commands: $(cat out)"
    [ "$(field out checksum_count)" = "$checksums" ] || fail "not $checksums comparisons: $(cat out)"
    case $(field out device) in
    *"software GPU"*llvmpipe*) ;;
    *) fail "not on both: $(cat out)" ;;
    esac
}

"$TEST_BUILD/vk_both" >plain.out
record_vulkan t.sbt "$TEST_BUILD/vk_both" >record.out
cmp plain.out record.out || fail "recording changed what the program computes"
both 25 16 t.sbt # 17 of CUDA, 8 of Vulkan; each round has a result of both

# One API's streams only: the other one has nothing to say.
status 0 tsreplay --json --streams=0 t.sbt
[ "$(field out checksum_count)" = 8 ] && [ "$(field out hollow_count)" = 8 ] || fail "$(cat out)"
status 0 tsreplay --json --streams=1 t.sbt
[ "$(field out checksum_count)" = 8 ] || fail "$(cat out)"
status 2 tsreplay --streams=7 t.sbt

# Each API's arms, named.
status 0 tsreplay --check=2 t.sbt
grep -q '^cuda: repeat' out && grep -q '^vulkan: poison' out || fail "not the arms of both: $(cat out)"

status 0 tracesmith trim --range submits:10: -o part.sbt t.sbt
status 0 tracesmith check part.sbt
whole=$(own_results t.sbt --range submits:10: | wc -l)
status 0 tsreplay --json part.sbt
[ "$(field out checksum_count)" = "$whole" ] || fail "not all of both is compared: $(cat out)"
TS_CHECKPOINT=8 record_vulkan late.sbt "$TEST_BUILD/vk_both" >record.out
cmp plain.out record.out || fail "checkpoints changed what the program computes"
status 0 tsreplay --json late.sbt --range submits:20:
[ "$(field out checkpoint)" -gt 0 ] || fail "not from a checkpoint: $(cat out)"
