#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_CHECKSUM=sync: what a kernel wrote into memory that the host reads in place is compared, as that
# kernel's; what the program wrote beside it meanwhile is not taken for it.
. "$(dirname "$0")/../e2e/util.sh"
export TS_CHECKSUM=sync
same_output hsa_inplace "$TEST_PROGRAMS/hsa_kernels.hsaco"
unset TS_CHECKSUM
tracesmith check t.sbt
[ "$(tsview t.sbt --calls readback | wc -l)" -ge 6 ] || fail "not looked at: $(tsview t.sbt)"
status 0 replay t.sbt
# Another result (the kernel reads the environment, which the sandbox's is not): which packet, which memory, from where on.
TEST_OTHER_RESULT=1 status 1 replay --trust-code t.sbt
for said in 'command *aql_kernel_dispatch, number 2 on stream 0' 'kernel *scale_or_not.kd' \
    'buffer *0x[0-9a-f]*, 16384 bytes' 'offset *4003'; do
    grep -q "$said" out || fail "not \"$said\": $(cat out err)"
done
# Nothing at all written: it cannot be told from what the program wrote.
TS_EMU_NOOP=1 status 2 replay t.sbt
grep -q 'memory of the host that 6 kernels had changed' out || fail "no reason: $(cat out err)"
# Some stores lost, few or nearly all: never the same. (Of 4096 values one is 0, which scaling leaves.)
for lost in 0:2 1:2 2:3 3:17 4:1000 5:4000 6:4095; do
    got=0
    TEST_LOST=$lost replay --trust-code t.sbt >out 2>err || got=$?
    [ $got = 1 ] || [ $got = 2 ] || fail "TEST_LOST=$lost: exit status $got: $(cat out err)"
done
# What the program writes while the kernel runs may be a store that was lost.
TS_CHECKSUM=sync TEST_BESIDE=1 record beside.sbt hsa_inplace "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
status 2 replay beside.sbt
grep -q 'or the program while they' out || fail "no reason: $(cat out err)"
# What a kernel wrote is its own when the next one is sent before it is known to be done.
TS_CHECKSUM=sync record pipeline.sbt hsa_pipeline "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
for lost in 1:2 2:1000 3:4095; do
    got=0
    TEST_LOST=$lost replay --trust-code pipeline.sbt >out 2>err || got=$?
    [ $got = 1 ] || [ $got = 2 ] || fail "pipeline, TEST_LOST=$lost: exit status $got: $(cat out err)"
done
# The same in default settings; with TS_READBACK=off nothing of it is recorded.
record t.sbt hsa_inplace "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
status 0 replay t.sbt
TEST_OTHER_RESULT=1 status 1 replay --trust-code t.sbt
grep -q 'offset *4003' out || fail "not where it differs: $(cat out err)"
TS_EMU_NOOP=1 status 2 replay t.sbt
TEST_BESIDE=1 record beside.sbt hsa_inplace "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
status 2 replay beside.sbt
TS_READBACK=off record t.sbt hsa_inplace "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
[ -z "$(tsview t.sbt --calls readback,checksum)" ] || fail "looked at though it is off"
