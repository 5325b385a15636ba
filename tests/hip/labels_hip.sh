#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a program tells of itself by roctx is in the trace, ranges can be named by it; and a runtime
# compiler that is a library of its own is recorded. Linked and opened.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
cp "$TEST_HIP/libstandin_hip.so" libamdhip64.so.6
cp "$TEST_HIP/libstandin_roctx.so" libroctx64.so.4
cp "$TEST_HIP/libstandin_hiprtc.so" libhiprtc.so.6

marks() {
    tsview --json --calls=mark "$1" |
        sed -n 's/"name":null/"name":""/; s/.*"name":"\([^"]*\)","phase":\([0-9]*\),"id":\([0-9]*\).*/\1 \2 \3/p'
}

for way in '' opened; do
    LD_LIBRARY_PATH=$PWD:$TEST_EMU "$TEST_HIP/hip_labels" "$TEST_PROGRAMS/hsa_kernels.hsaco" $way >plain ||
        fail "hip_labels $way: not even without us"
    LD_LIBRARY_PATH=$PWD:$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt \
        "$TEST_HIP/hip_labels" "$TEST_PROGRAMS/hsa_kernels.hsaco" $way >out 2>err || fail "$way: $(cat out err)"
    cmp plain out || fail "another output"
    tracesmith check t.sbt
    marks t.sbt >marks
    [ "$(tr '\n' ',' <marks)" = "range 1 4294967297,second 1 4294967298,outer 1 0,inner 1 0,elsewhere 1 0, 2 0, 2 0, 2 4294967297, 2 0,point 0 0, 2 0, 2 4294967298," ] ||
        fail "$way: marks: $(cat marks; tsview --json --calls=mark t.sbt | head -3)"
    tsview --calls='hiprtc*' t.sbt >rtc
    grep -q 'hiprtcVersion(major=6, minor=4' rtc || fail "$way: no compiler: $(cat rtc)"
    grep -q 'hiprtcLinkDestroy(.*HIPRTC_ERROR_INVALID_INPUT' rtc || fail "$way: $(cat rtc)"

    # Of what the labels go around: launches of the program's thread, whatever the other one says.
    for label in outer:3 inner:1 range:2 second:4 elsewhere:0; do
        got=$(tsview --range "label:${label%:*}" --calls=aql_kernel_dispatch t.sbt | grep -c aql_kernel || :)
        [ "$got" = "${label#*:}" ] || fail "$way: $got launches in label $label"
    done
    status 2 tsview --range label:none t.sbt
    grep -q 'calls=mark' err || fail "no advice: $(cat err)"
    status 0 replay --range label:inner t.sbt
    grep -q 'all 1 checksums equal' out || fail "not compared: $(cat out)"
done

status 0 tracesmith trim --device emu --range label:inner -o part.sbt t.sbt
status 0 replay part.sbt
grep -q 'all 1 checksums equal' out || fail "not compared: $(cat out)"
TS_EMU_NOOP=1 status 1 replay part.sbt

# On the time line: labels of threads nest, ranges stand for themselves, calls of HIP go around packets.
tracesmith merge --perfetto=- t.sbt >perfetto.json 2>err || fail "merge: $(cat err)"
for event in '"B","name":"outer"' '"E","name":""' '"b","name":"range"' '"e","name":""' '"i","name":"point"' \
    '"X","name":"hipModuleLaunchKernel"' '"X","name":"aql_kernel_dispatch"'; do
    grep -q "\"ph\":$event" perfetto.json || fail "no event $event: $(head -c 2000 perfetto.json)"
done
python3 -c 'import json; json.load(open("perfetto.json"))' || fail "no JSON"
