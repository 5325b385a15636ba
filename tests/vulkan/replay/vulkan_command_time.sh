#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_GPU_TIME=commands: commands inside of command buffers have times, and neither the program nor its trace notices.
. "$(dirname "$0")/vulkan_util.sh"

# timed NAME PROGRAM...: leaves NAME.plain.sbt, NAME.sbt and NAME.times: what has a time, a line for each submit.
timed() {
    name=$1
    shift
    for times in off commands; do
        VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation TS_GPU_TIME=$times record_vulkan $name.$times.sbt "$@" 2>&1 |
            sed -E 's/0x[0-9a-f]+/0x/g' >$name.$times.out
    done
    mv $name.commands.sbt $name.sbt
    mv $name.off.sbt $name.plain.sbt
    cmp $name.off.out $name.commands.out || fail "$name: $(diff $name.off.out $name.commands.out | head -20)"
    status 0 tracesmith check $name.sbt
    tsview --json $name.sbt >$name.records
    python3 "$TEST_SOURCE/tests/vulkan/replay/command_times.py" $name.records >$name.times || fail "$name: wrong times"
}

timed all "$TEST_BUILD/vk_timed"
python3 - <<'END' || fail "$(head -20 all.times)"
lines = [line.rstrip() for line in open("all.times")]
plain = 'CopyBuffer 1/1 Dispatch 2/2 FillBuffer 1/1 UpdateBuffer 1/1'
assert lines[:6] == [plain] * 4 + ['Dispatch 1/1'] * 2, lines[:6]
# Three times in one submit, once more in the next one: the last has its time, of the others what was read before.
assert lines[6] in [f'Dispatch {n}/3' for n in range(4)], lines[6]
assert lines[7] == 'Dispatch 1/1', lines[7]
assert lines[8:10] == ['Dispatch 4/4'] * 2, lines[8:10]
# A secondary command buffer that may be pending several times has no times.
assert lines[10:12] == ['Dispatch 2/6'] * 2, lines[10:12]
assert lines[12] == 'FillBuffer 500/500', lines[12]
assert lines[13:] == [plain] * 96, lines[13:]
END
all_equal 10 all.sbt
# The program's calls are the same, and have the same places.
for name in all.plain all; do
    tsview --json $name.sbt | grep -E '"call":"vk(Cmd|Queue|Begin|End|Reset)' | sed -E 's/"(seq|time_ns|duration_ns|thread|stack)":[0-9]*,//g' |
        head -80 >$name.calls
done
cmp all.plain.calls all.calls || fail "other calls: $(diff all.plain.calls all.calls | head -4)"

# In the tree of submits, and in sums that count nothing twice.
status 0 tsview --tree all.sbt
[ "$(grep -c 'vkCmdFillBuffer.* GPU [0-9.]* us' out)" -ge 501 ] || fail "not in the tree: $(head -20 out)"
status 0 tsview --tree --json all.sbt
grep -q '"gpu_duration_ns":[0-9]' out || fail 'not in JSON'
status 0 tracesmith stats --json all.sbt
python3 - <<'END' || fail "wrong sums: $(cat out)"
import json
tables = json.load(open("out"))
tables = tables.get("tables", tables)
rows = tables["commands"]
assert {row["name"].split()[0] for row in rows} == {
    "vkCmdDispatch", "vkCmdFillBuffer", "vkCmdUpdateBuffer", "vkCmdCopyBuffer"}, rows
assert all("VkPipeline#" in row["name"] for row in rows if row["work"] == "kernel"), rows
records = [json.loads(line) for line in open("all.records")][1:]
times = [r["args"] for r in records if r["call"] == "gpu_time"]
batches = sum(t["duration_ns"] for t in times if not t["command"])
sums = sum(row["total_ns"] for row in rows + tables["kernels"])
assert sums == batches, (sums, batches)
END

# Two traces: by commands where both have times of them; else submits are compared as a whole, as in a replay, which times no more.
timed steps "$TEST_VULKAN/vk_steps"
cp steps.sbt late.sbt
tracesmith stats --json --section=commands steps.sbt >steps.stats
python3 - "$TEST_PROGRAMS/alter_trace" <<'END' || fail "cannot make copies slow"
import json, os, subprocess, sys
records = [json.loads(line) for line in open("steps.records")][1:]
DURATION = 4
kinds = {}
for r in records:
    if r["call"] == "gpu_time" and r["args"]["command"]:
        kinds.setdefault(r["args"]["of_type"], []).append(r)
count = {row["name"]: row["count"] for row in json.load(open("steps.stats"))["commands"]}["vkCmdCopyBuffer"]
copies, = [list for list in kinds.values() if len(list) == count]
for r in copies:
    subprocess.run([sys.argv[1], "late.sbt", "next.sbt", "slot", str(r["seq"]), f"{DURATION}:{r['args']['duration_ns'] * 100 + 100000}"], check=True)
    os.rename("next.sbt", "late.sbt")
END
status 0 tracesmith stats --compare --threshold=0 --json steps.sbt steps.sbt
jq -e '(.commands | length) == 3 and all(.commands[]; .change == "none") and (.counts.none >= 4)' out >/dev/null || fail "differs from itself: $(cat out)"
status 1 tracesmith stats --compare --section=commands steps.sbt late.sbt
grep -q '^commands inside of submits' out && grep -q '^ *slower .*vkCmdCopyBuffer' out || fail "copies are not slower: $(cat out)"
status 0 tracesmith stats --compare --section=commands late.sbt steps.sbt
TS_GPU_TIME=1 record_vulkan events.sbt "$TEST_VULKAN/vk_steps" >/dev/null
whole=$(tracesmith stats --json --section=kernels events.sbt | jq '.kernels[0].total_ns')
"$TEST_BIN/tracesmith" stats --compare --json events.sbt steps.sbt >compared 2>notes || true
grep -q 'submits are compared as a whole' notes || fail "no word of what is compared: $(cat notes)"
batches=$(jq -s 'map(select(.call == "gpu_time" and .args.command == 0) | .args.duration_ns) | add' steps.records)
jq -e --argjson a "$whole" --argjson b "$batches" '.commands == null and .kernels[0].total_a_ns == $a and .kernels[0].total_b_ns == $b' compared >/dev/null ||
    fail "not whole: $whole $batches $(cat compared)"
"$TEST_BIN/tracesmith" stats --section=commands events.sbt >none.out 2>notes || fail "$(cat notes)"
[ "$(wc -l <notes)" = 1 ] && grep -q 'no times of commands inside of submits' notes || fail "$(cat notes)"
# Render passes, dynamic rendering, secondary command buffers in them, threads.
for kind in dynamic group; do
    timed $kind "$TEST_VULKAN/vk_render" $kind
    grep -q '[1-9]' $kind.times || fail "nothing drawn: $(cat $kind.times)"
done
for mode in threads together instances secondary push; do
    timed $mode "$TEST_VULKAN/vk_modes" $mode
    grep -q 'Dispatch [1-9]' $mode.times || fail "$mode: $(cat $mode.times)"
    all_equal 1 $mode.sbt
done
status 0 tsdiff dynamic.plain.sbt dynamic.sbt
status 0 tsdiff secondary.plain.sbt secondary.sbt
TS_GPU_TIME=commands record_mode fork
status 0 tracesmith check fork.sbt
for program in 'batches 1' stages threads; do
    timed truth "$TEST_VULKAN/vk_truth" $program
    all_equal 1 truth.sbt
done

# Families without timestamps, and with few bits of them.
export VK_ICD_FILENAMES="$TEST_VULKAN/vk_driver.json"
export TS_TEST_DRIVER=untimed
timed untimed "$TEST_VULKAN/vk_modes" secondary
grep -qx 'Dispatch 0/[1-9]' untimed.times || fail "times of a family that has none: $(cat untimed.times)"
TS_TEST_DRIVER=narrow
timed narrow "$TEST_VULKAN/vk_modes" secondary
cmp secondary.times narrow.times || fail "narrow timestamps: $(cat narrow.times)"
export VK_ICD_FILENAMES=$driver TS_TEST_DRIVER=

# A window, which is drawn with draws.
if command -v vkcube >/dev/null && command -v xvfb-run >/dev/null; then
    xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=cube.sbt TS_GPU_TIME=commands \
        vkcube --c 20 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
    status 0 tracesmith stats --section=commands --csv cube.sbt
    grep -q ',20,.*vkCmdDraw VkPipeline#' out || fail "not every draw: $(cat out)"
    all_equal 1 cube.sbt
fi

# More commands than there are queries for.
TS_GPU_TIME=commands record_vulkan many.sbt "$TEST_BUILD/vk_timed" 140000 >many.out
tsview many.sbt | grep -q 'too many commands' || fail 'says nothing of what is not timed'
status 0 tracesmith check many.sbt

# Without the loader it does no harm.
library=/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so
if [ -f $library ]; then
    TS_GPU_TIME=commands record_vulkan direct.sbt "$TEST_VULKAN/vk_open" driver $library >direct.out
    grep -q '6 submits' direct.out || fail "$(cat direct.out)"
fi
