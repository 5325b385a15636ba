#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory that is locked twice, in part, or beside other locks is watched until the last lock goes, and is one
# piece in a replay; also from checkpoints.
. "$(dirname "$0")/../e2e/util.sh"
same_output hsa_locks "$TEST_PROGRAMS/hsa_kernels.hsaco"
tracesmith check t.sbt
tsview t.sbt | grep taints && fail tainted
status 0 replay t.sbt
grep -q 'checksums equal' out || fail "nothing was compared"
TS_EMU_NOOP=1 status 1 replay t.sbt
rm t.sbt
TS_CHECKPOINT=10 TS_CHECKSUM=sync record t.sbt hsa_locks "$TEST_PROGRAMS/hsa_kernels.hsaco" >record.out
cmp plain.out record.out || fail "checkpoints changed the output"
status 0 replay t.sbt
for number in $(tsview --json t.sbt | sed -n '/"call":"checkpoint_end"/s/.*"seq":\([0-9]*\).*/\1/p'); do
    timeout 60 tsreplay --device emu --range $((number + 1)): t.sbt >out 2>err || [ $? = 3 ] ||
        fail "from record $number: $(cat out err)"
done
