#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tsreplay --time with Vulkan: each batch with command buffers has a time in each run, of a range that is set back
# between them, too; the trace with them is sound and replays; the validation layer has nothing to say.
. "$(dirname "$0")/vulkan_util.sh"
times=$TEST_SOURCE/tests/e2e/replay/times.py
validate=
[ ! -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || validate=--validate

# timed TRACE RUNS [OPTION...]: leaves timed.sbt, out, and records of both
timed() {
    trace=$1
    runs=$2
    shift 2
    rm -f timed.sbt
    all_equal 1 "$trace" --time="$runs" -o timed.sbt "$@"
    [ "$(field out validation_count)" = 0 ] || fail "validation errors: $(cat err)"
    tracesmith check timed.sbt
    tsview --json "$trace" >recorded
    tsview --json timed.sbt >records
}

TS_GPU_TIME=1 record_vulkan t.sbt "$TEST_BUILD/vk_look" >/dev/null
timed t.sbt 3 $validate
python3 "$times" recorded records 3 --own || fail "wrong times"
status 0 tsreplay timed.sbt
status 0 tracesmith stats --json timed.sbt
jq -e '.measured_count == 3 * 3' out >/dev/null || fail "stats: $(cat out)"

# A range runs again with the same objects; what comes before it has no times.
TS_CHECKPOINT=10 record_vulkan t.sbt "$TEST_BUILD/vk_rounds" 40 >/dev/null
timed t.sbt 4 --range submits:12:14 $validate
[ "$(field out loop_kept)" = True ] || fail "made again: $(cat out)"
part=$(tsview --json t.sbt | jq -s '[.[] | select(.call | tostring | startswith("vkQueueSubmit")) | .seq] | .[11], .[13]' | paste -sd:)
python3 "$times" recorded records 4 --part "$part" || fail "range: wrong times"
timed t.sbt 2 --range submits:30:
