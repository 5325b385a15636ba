#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# AMD's own HIP (Debian: libamdhip64-5), as it is, on the software GPU's HSA, which says for it that it is
# a gfx906: its copies are recorded with the calls that they come from, and replayed to the same bytes.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
export TS_EMU_HSA_ISA=amdgcn-amd-amdhsa--gfx906
export TEST_PROGRAMS=$TEST_HIP
status=0
plain hip_copies >out 2>err || status=$?
[ $status != 77 ] || { echo 'no libamdhip64: scripts/deps test installs it'; exit 77; }
grep -q right out || fail "not even without us: $(cat out err)"

record t.sbt hip_copies >out 2>err || fail "recorded: $(cat out err)"
grep -q right out || fail "recorded, it is wrong"
tracesmith check t.sbt
tsview t.sbt >view.txt
[ "$(grep -c ' hipMemcpy(' view.txt)" = 4 ] || fail "not 4 copies: $(grep hipMemcpy view.txt)"
[ "$(grep -c ' hipMemcpyAsync(' view.txt)" = 4 ] || fail "not 4 asynchronous copies"
grep -q 'hsa_amd_memory_async_copy.* < hipMemcpy #' view.txt || fail "whose copy is it?"
grep -q 'hsa_ext_image_create(.*width=100, height=20.* < hipMallocArray #' view.txt || fail "no image"
grep -q 'unmodelled\|taints' view.txt && fail "not modelled: $(grep 'unmodelled\|taints' view.txt)"
grep -q '__hipPushCallConfiguration(sharedMem=128, stream=0x0, gridDim.x=3, gridDim.y=2' view.txt ||
    fail "no configuration: $(grep __hip view.txt)"
grep -q 'hiprtcCompileProgram(.*result=HIPRTC_ERROR_COMPILATION' view.txt || fail "no compiler"

# What is compiled is code: it goes with the contents.
tsview --json t.sbt >view.json
grep -q '"src":{"size":7,' view.json || fail "no source: $(grep hiprtcCreate view.json)"
status 0 tracesmith redact --remove=contents -o without.sbt t.sbt
tsview --json without.sbt >view.json
grep -q '"src":{"size":7,"xxh128"' view.json || fail "source: $(grep hiprtcCreate view.json)"

# Each function of the library is recorded, but those that only tell names, and its profiling.
library=$(ldconfig -p | sed -n 's/.*libamdhip64.so.5 .* => //p' | head -1)
told='__hipGetPCH hipApiName hipCreateChannelDesc hipEnableActivityCallback hipGetCmdName hipGetErrorName
hipGetErrorString hipGetStreamDeviceId hipInitActivityCallback hipKernelNameRef hipKernelNameRefByPtr
hipRegisterActivityCallback hipRegisterApiCallback hipRemoveActivityCallback hipRemoveApiCallback
hiprtcGetErrorString'
names() { nm -D --defined-only "$1" | sed -n 's/^[0-9a-f]* [TW] \([^@]*\).*/\1/p' | grep hip | sort -u; }
names "$library" >theirs
{ names "$TEST_CAPTURE"; printf '%s\n' $told; } | sort -u >ours
comm -23 theirs ours >missing
[ ! -s missing ] || fail "not recorded: $(cat missing)"
[ "$(wc -l <theirs)" -gt 300 ] || fail "the library has no functions"

status 0 replay t.sbt
grep -q 'checksums equal' out || fail "nothing was compared: $(cat out)"
