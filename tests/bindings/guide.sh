#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs of docs/c.md do what it says. GUIDE is the folder in which they were built.
. "$(dirname "$0")/../e2e/util.sh"
TS_EMU_TIME=virtual TS_GPU_TIME=1 record v.sbt pipeline >/dev/null
record t.sbt pipeline >/dev/null

status 0 "$GUIDE/print_calls" v.sbt
grep -q '^[0-9]* cuLaunchKernel .*gridDimX=16 .*(copy)$' out || fail "calls: $(cat out)"
[ "$(grep -c . out)" = "$(tsview v.sbt | wc -l)" ] || fail "number of calls"
status 2 "$GUIDE/print_calls" missing.sbt
grep -q '^print_calls: .*missing.sbt' err || fail "calls: $(cat err)"

# Its times are those of the tool.
status 0 "$GUIDE/kernel_times" v.sbt
sed -n 's/^\([0-9]*\) ns in \([0-9]*\) launches of \(.*\)/\3 \2 \1/p' out | sort >ours
tracesmith stats --json --section=kernels v.sbt |
    jq -r ".kernels[] | select(.work == \"kernel\") | \"\\(.name) \\(.count) \\(.total_ns)\"" | sort >tool
[ -s tool ] && cmp ours tool || fail "times: $(cat ours tool)"
grep -q '^main at program.h:[0-9]* (pipeline+0x[0-9a-f]*)$' out || fail "stacks: $(cat out)"

status 0 "$GUIDE/compare" t.sbt t.sbt
grep -q '^same: [1-9][0-9]* compared$' out || fail "same: $(cat out)"
record other.sbt pipeline 3 >/dev/null
status 1 "$GUIDE/compare" t.sbt other.sbt
grep -q '^different: record ' out || fail "different: $(cat out)"

status 0 "$GUIDE/replay" t.sbt emu "$TEST_EMU/libcuda.so.1"
grep -q "^verdict 0, [1-9][0-9]* commands, [1-9]" out ||
    fail "replay: $(cat out)"
TS_EMU_NOOP=1 status 1 "$GUIDE/replay" t.sbt emu "$TEST_EMU/libcuda.so.1"
grep -q 'differs$' out || fail "a wrong device: $(cat out)"

status 0 "$GUIDE/write_trace" mine.sbt
status 0 tracesmith check mine.sbt
status 0 "$GUIDE/print_calls" mine.sbt
[ "$(cat out)" = '0 myLaunch grid_x=16 (scale)
1 myLaunch grid_x=32 (scale)
2 myLaunch grid_x=64 (scale)' ] || fail "own: $(cat out)"
