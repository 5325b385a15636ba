#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tsreplay --time: every command that has a time in the recording has one in each run; the trace with these times is
# sound, replays, and is summed up and compared like a recording; what cannot be done is refused before any work.
. "$(dirname "$0")/../util.sh"
times=$TEST_SOURCE/tests/e2e/replay/times.py

# timed TRACE RUNS [OPTION...]: leaves timed.sbt, out, and records of both. A part may have no results to compare.
timed() {
    trace=$1
    runs=$2
    shift 2
    rm -f timed.sbt
    got=0
    replay "$trace" --json --time="$runs" -o timed.sbt "$@" >out 2>err || got=$?
    [ $got = 0 ] || { [ $got = 3 ] && [ $# -gt 0 ]; } || fail "exit status $got: $(cat out err)"
    tracesmith check timed.sbt
    tsview --json "$trace" >recorded
    tsview --json timed.sbt >records
}

for what in saxpy 'pipeline 4' 'streams 3' graphs staging threads pools managed functions conditional; do
    TS_GPU_TIME=1 record t.sbt $what >/dev/null
    timed t.sbt 3:1
    echo "$what"
    python3 "$times" recorded records 3 --own || fail "$what: wrong times"
    jq -e '.verdict == "same" and .times.run_count == 3 and .times.warmup_count == 1 and
           (.times.run_ns | length == 3) and (.times.steadiness.unsteady | type == "boolean") and
           .times.steadiness.drift_chance == null and .times.clocks == null' out >/dev/null ||
        fail "$what: $(cat out)"
    status 0 replay timed.sbt
done

# Sums: of each kernel three times as many, all with a time; the recording beside them.
TS_GPU_TIME=1 record t.sbt pipeline 24 >/dev/null
timed t.sbt 3
names='[.kernels[], .copies[] | {name, count}] | sort_by(.name)'
tracesmith stats --json t.sbt >t.json
tracesmith stats --json timed.sbt >timed.json
jq -e --slurpfile a t.json "($names) == (\$a[0] | [.kernels[], .copies[] | {name, count: (.count * 3)}] | sort_by(.name))" \
    timed.json >/dev/null || fail "stats: $(cat timed.json)"
jq -e --slurpfile a timed.json ".times | ($names) == (\$a[0] | $names)" out >/dev/null || fail "report: $(cat out)"
jq -e '.times.kernels[], .times.copies[] | select(.timed_count != .count or .recorded_median_ns == null or
       .min_ns > .median_ns or .median_ns > .p99_ns)' out >/dev/null && fail "report: $(cat out)"
got=0
tracesmith stats --compare --json t.sbt timed.sbt >compared || got=$?
[ $got -le 1 ] && jq -e '.kernels[] | select(.name == "mix" and .count_b == 3 * .count_a)' compared >/dev/null ||
    fail "compare: $(cat compared)"
status 0 replay t.sbt --time=2
grep -q '^2 runs: ' out && grep -q ' mix$' out || fail "text: $(cat out)"

# A device that is 4 ms late each time is slower than the recording, and than the replay before.
TS_EMU_LATE=4 status 0 replay t.sbt --json --time=3 -o late.sbt
slower=$(jq -r '[.times.kernels[], .times.copies[] | select(.change == "slower") | .name] | sort | join(",")' out)
[ "$slower" = "copy,device to host,host to device,mix" ] || fail "slower: $slower"
status 1 tracesmith stats --compare timed.sbt late.sbt

# Without times in the recording there is nothing to compare with.
record plain.sbt pipeline 80 >/dev/null
timed plain.sbt 2:0
python3 "$times" recorded records 2 --least 320 || fail "plain: wrong times"
jq -e '[.times.kernels[].change] | unique == ["unknown"]' out >/dev/null || fail "plain: $(cat out)"
status 0 replay plain.sbt --time=1
grep -q 'has no times of the device' err && grep -q 'less than 15 runs' err || fail "notes: $(cat err)"

# A trace with times of its own runs is measured again: they are gone.
cp timed.sbt again.sbt
timed again.sbt 3
python3 -c 'import json; assert json.loads(open("records").readline())["metadata"]["timed.runs"] == "3"'

# A part: a range, a stream.
TS_GPU_TIME=1 record t.sbt streams 3 >/dev/null
middle=$(tsview --json t.sbt | jq -s '[.[] | select(.kind == "command") | .seq] | .[length / 3 | floor], .[length * 2 / 3 | floor]' |
    paste -sd:)
timed t.sbt 2 --range "$middle"
python3 "$times" recorded records 2 --part "$middle" || fail "range: wrong times"
stream=$(tsview --json t.sbt | jq -s '[.[] | select(.call == "cuLaunchKernel") | .stream] | max')
timed t.sbt 2 --streams "$stream"
python3 "$times" recorded records 2 --stream "$stream" || fail "stream: wrong times"

# refused TEXT OPTION...: at once, with a message
refused() {
    text=$1
    shift
    status 2 replay t.sbt "$@"
    grep -q -- "$text" err || fail "no '$text': $(cat err)"
    [ ! -s out ] || fail "it began: $(cat out)"
}
refused '--check' --time=2 --check
refused '--loop' --time=2 --loop 3
refused '--dry-run' --time=2 --dry-run
refused '--output keeps' -o x.sbt
refused 'cannot be written' --time=2 -o none/x.sbt
refused 'is the trace that is read' --time=2 -o t.sbt
echo text >text
refused 'is not a trace' --time=2 -o text
for count in 0 x 2: 2:x 1001 -1 2:1:1; do
    refused time --time="$count"
done

# The first run is compared: a difference ends it, unless it is to go on.
TS_EMU_WRONG=1 status 1 replay t.sbt --json --time=2
jq -e '.times.run_count == 0' out >/dev/null && grep -q 'keep-going' err || fail "ended: $(cat out err)"
TS_EMU_WRONG=1 status 1 replay t.sbt --json --time=2 --keep-going
jq -e '.times.run_count == 2 and .verdict == "different"' out >/dev/null || fail "went on: $(cat out)"
TS_EMU_WRONG=1 status 2 replay t.sbt --time=2 -o different.sbt
[ ! -e different.sbt ] || fail "a trace without times"

# What lacks something is not taken for whole.
size=$(wc -c <t.sbt)
head -c $((size * 2 / 3)) t.sbt >cut.sbt
status 2 replay cut.sbt --time=1 -o short.sbt
[ ! -e short.sbt ] || fail "a trace of what was cut"
