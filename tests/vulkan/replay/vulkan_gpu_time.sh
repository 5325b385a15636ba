#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_GPU_TIME: each batch with work has its time, where it was, and the program notices nothing.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan plain.sbt "$TEST_BUILD/vk_look" >plain.out
! tsview plain.sbt | grep -q gpu_time || fail "times that nobody asked for"
export TS_GPU_TIME=1
VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation record_vulkan time.sbt "$TEST_BUILD/vk_look" >time.out 2>&1
cmp plain.out time.out || fail "$(cat time.out)"
status 0 tracesmith check time.sbt
all_equal 2 time.sbt

tsview --json time.sbt >records
python3 - <<'END' || fail "$(grep -c gpu_time records) times"
import json
records = [json.loads(line) for line in open("records")][1:]
submits = {r["position"]: r for r in records if r["call"].startswith("vkQueueSubmit")}
times = [r["args"] for r in records if r["call"] == "gpu_time"]
assert [(t["of_position"], t["part"]) for t in times] == list(zip(submits, [0, 1, 0])), times
last = 0
for t, r in zip(times, [r for r in records if r["call"] == "gpu_time"]):
    submit = submits[t["of_position"]]
    assert t["flags"] == "calibrated" and t["duration_ns"] > 0
    # lavapipe's clock is the host's: not before it was sent, not after it was known, one by one
    assert submit["time_ns"] - 1000000 < t["start_ns"], (submit["time_ns"], t)
    assert t["start_ns"] + t["duration_ns"] < r["time_ns"] + r["duration_ns"] + 1000000
    assert t["start_ns"] > last
    last = t["start_ns"]
# Ours is not the program's.
device = next(r for r in records if r["call"] == "vkCreateDevice")
assert "calibrated" not in json.dumps(device["args"])
END
status 0 tsview --tree time.sbt
[ "$(grep -c 'vkQueueSubmit.* GPU [0-9.]* us' out)" -ge 2 ] || fail "not in the tree: $(cat out)"
status 0 tsview --tree --json time.sbt
grep -q '"gpu":\[{"part":0,"start_ns":[0-9]*,"duration_ns":[0-9]*,"calibrated":true}\]' out || fail "not in JSON"

# Without the loader it does no harm.
library=/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so
if [ -f $library ]; then
    record_vulkan direct.sbt "$TEST_VULKAN/vk_open" driver $library >direct.out
    grep -q '6 submits' direct.out || fail "$(cat direct.out)"
fi

# Programs of all kinds print what they print without it.
for mode in threads together instances secondary push fork destructor; do
    TS_GPU_TIME=0 record_mode $mode
    mv $mode.out without.out
    record_mode $mode
    cmp without.out $mode.out || fail "$mode prints something else"
    [ $mode = destructor ] || tsview $mode.sbt | grep -q 'gpu_time(' || fail "$mode: no times"
    status 0 tracesmith check $mode.sbt
done

# Nobody waits for work that waits for the program, and what is complete before it has its time.
for program in 'batches 1' 'batches 2' 'bytes 1' stages threads; do
    "$TEST_VULKAN/vk_truth" $program >plain.out
    record_vulkan truth.sbt timeout 100 "$TEST_VULKAN/vk_truth" $program >truth.out || fail "$program: does not end well"
    cmp plain.out truth.out || fail "$program prints something else"
    tsview truth.sbt | grep -q 'gpu_time(' || fail "$program: no times"
    all_equal 1 truth.sbt
done
