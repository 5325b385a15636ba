#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tsreplay --time of Vulkan: submits as a whole, or each command inside of command buffers; what is computed stays the same.
. "$(dirname "$0")/vulkan_util.sh"

timed() {
    name=$1
    shift
    TS_GPU_TIME=commands record_vulkan $name.sbt "$@" >$name.out
}

timed steps "$TEST_VULKAN/vk_steps"
TS_GPU_TIME=1 record_vulkan events.sbt "$TEST_VULKAN/vk_steps" >/dev/null

# A replay times what the recording has times of: submits as a whole where that has no more ...
status 0 tsreplay --time=2 --json events.sbt
median=$(tsview --json events.sbt | jq -s '[.[] | select(.call == "gpu_time") | .args.duration_ns] | sort | (.[length/2-1] + .[length/2]) / 2 | floor')
jq -e --argjson m "$median" '.times.commands == null and .times.kernels[0].recorded_median_ns == $m' out >/dev/null || fail "recorded is not whole: $median $(jq .times.kernels out)"

# ... and else each command, as often as runs and commands there are. NAME, RUNS, and a third argument where the recording, or
# the replay, loses times of command buffers that are sent again before they are read.
commands_again() {
    status 0 tsreplay --validate --json $1.sbt
    errors=$(jq .validation_count out)
    status 0 tsreplay --validate --time=$2 --json -o timed.sbt --force $1.sbt
    cp out again.json
    status 0 tracesmith check timed.sbt
    tracesmith stats --json --section=kernels,commands $1.sbt >recorded.json
    tracesmith stats --json --section=kernels,commands timed.sbt >timed.json
    tsview --json timed.sbt | jq -c 'select(.call == "gpu_time") | .args' >times
    python3 - "${2%:*}" $errors ${3-} <<'END' || fail "$1: times of commands in a replay: $(head -c 2000 again.json)"
import json, sys
runs, errors, partial = int(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
again, recorded, timed = (json.load(open(f"{name}.json")) for name in ("again", "recorded", "timed"))
assert again["verdict"] == "same" and again["validation_count"] == errors, again
rows = {row["name"]: row for row in again["times"]["commands"]}
known = {row["name"]: row for row in recorded["commands"]}
assert known and (set(known) <= set(rows) if partial else set(known) == set(rows)), (set(known), set(rows))
for name, row in known.items():
    assert rows[name]["count"] if partial else rows[name]["count"] == runs * row["count"], (name, rows[name], row)
assert {row["name"]: row["count"] for row in timed["commands"]} == {name: row["count"] for name, row in rows.items()}
inner, whole = {}, {}
for line in open("times"):
    t = json.loads(line)
    key = (t["of_stream"], t["of_position"], t["part"], t["run"])
    if t["command"]:
        inner.setdefault(key, []).append(t)
    else:
        whole[key] = t
assert set(inner) <= set(whole) and len({key[3] for key in inner}) == runs
for key, list in inner.items():
    list.sort(key=lambda t: t["start_ns"])
    assert len({(t["buffer"], t["command"]) for t in list}) == len(list), key
    sum_ns = sum(t["duration_ns"] for t in list)
    assert sum_ns == whole[key]["inner_ns"] <= whole[key]["duration_ns"] + len(list), (key, sum_ns, whole[key])
    for a, b in zip(list, list[1:]):
        assert b["start_ns"] + 1 >= a["start_ns"] + a["duration_ns"], (a, b)
END
}
commands_again steps 3:1
status 0 tsreplay --time=2 --time-commands --json events.sbt
jq -e '(.times.commands | length) == 3 and all(.times.commands[]; .recorded_median_ns == null)' out >/dev/null || fail "not each command: $(jq .times out)"
jq -e --argjson m "$median" '.times.kernels[0].recorded_median_ns == $m' out >/dev/null || fail "not whole: $(jq .times.kernels out)"
status 2 tsreplay --time-commands steps.sbt
status 0 tsreplay --time=2 --range=200: steps.sbt

# Command buffers that are sent several times at once, and in one submit; secondary ones; render passes; threads.
timed all "$TEST_BUILD/vk_timed"
commands_again all 2:0 partial
timed dynamic "$TEST_VULKAN/vk_render" dynamic
commands_again dynamic 1:0
for mode in threads secondary; do
    timed $mode "$TEST_VULKAN/vk_modes" $mode
    commands_again $mode 1:0
done
# Batches of device groups stay as they are: their queries are reset before.
timed group "$TEST_VULKAN/vk_render" group
status 0 tsreplay --validate --time=1:0 group.sbt
grep -q 'validation error' out && fail "group: $(cat out)"

# More commands than there are queries for.
timed many "$TEST_BUILD/vk_timed" 140000
status 0 tsreplay --time=1:0 --json many.sbt
jq -e '[.times.commands[].count] | add | . > 100000 and . <= 131072' out >/dev/null || fail "many: $(jq -c .times.commands out)"

# Families without timestamps, and with few bits of them.
export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json"
TS_TEST_DRIVER=untimed tsreplay --time=1:0 --json secondary.sbt >out || fail "untimed: $(cat out)"
jq -e '.verdict == "same" and .times.run_count == 0' out >/dev/null || fail "times of a family that has none: $(cat out)"
TS_TEST_DRIVER=narrow tsreplay --time=1:0 --json secondary.sbt >out || fail "narrow: $(cat out)"
jq -e '.verdict == "same" and (.times.commands | length) > 0' out >/dev/null || fail "narrow: $(cat out)"
export VK_ICD_FILENAMES=$driver

# A window, which is drawn with draws.
if command -v vkcube >/dev/null && command -v xvfb-run >/dev/null; then
    xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=cube.sbt TS_GPU_TIME=commands \
        vkcube --c 20 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
    status 0 tsreplay --time=2 --json cube.sbt
    jq -e '[.times.commands[] | select(.name | startswith("vkCmdDraw VkPipeline#")) | .count] == [40]' out >/dev/null || fail "not every draw again: $(jq .times.commands out)"
fi
