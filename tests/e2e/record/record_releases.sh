#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A call that fails changes nothing of ours: each call that destroys or releases something fails once,
# the program goes on with what it could not give up, and its replay gives the same bytes.
. "$(dirname "$0")/../util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77 # the driver in front hides the software GPU from its runtime
TEST_NEXT=$TEST_EMU/libcuda.so.1
TEST_EMU=$TEST_PROGRAMS/failing
export TS_TEST_NEXT="$TEST_NEXT" TS_TEST_FAIL=""

# Those of the API's description, and those that it calls otherwise. Memory of another process, and what
# comes from another API, is not to be had here, and what is not modelled taints anyway.
listed=$(awk '/^[0-9]+ cu/ { sub(/\(.*/, "", $2); name = $2 }
              /^    (generated|hook) destroy/ && name !~ /^cuIpcCloseMemHandle|^cuDestroyExternal/ { print name }' \
    "$TEST_SOURCE/api/cuda/cuda.api")
others='cuMemUnmap cuMemRelease cuMemAddressFree cuMemPoolDestroy cuDevicePrimaryCtxRelease_v2'
[ "$(echo $listed | wc -w)" -gt 15 ] || fail "the description has only: $listed"

same() {
    same_output releases
    for name in $(echo "$TS_TEST_FAIL" | tr , ' '); do
        grep -q "failed: $name\$" record.err || fail "the program does not call $name"
    done
    tracesmith check t.sbt
    status 0 replay t.sbt
    grep -q 'checksums equal' out || fail "$TS_TEST_FAIL: $(cat out)"
}
for TS_TEST_FAIL in '' $listed $others; do
    same
done
TS_TEST_FAIL=$(echo $listed $others | tr ' ' ,)
same
# A checkpoint makes some of these calls itself.
TS_TEST_FAIL=$(echo $listed cuMemPoolDestroy | sed 's/cuEventDestroy_v2//' | tr -s ' ' ,)
export TS_CHECKPOINT=1 TS_CHECKSUM=sync
same
tsview t.sbt | grep -q checkpoint_end || fail "no checkpoint"
unset TS_CHECKPOINT TS_CHECKSUM
