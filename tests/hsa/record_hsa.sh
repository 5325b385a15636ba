#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use HSA are recorded on the software GPU without a change, and their replay gives the
# same bytes, on one queue and on several, by linking and by dlopen.
. "$(dirname "$0")/../e2e/util.sh"
for program in hsa_agents hsa_asks hsa_barriers hsa_dispatch hsa_queues hsa_opened hsa_passed hsa_pixels hsa_shared hsa_threads hsa_views hsa_virtual; do
    same_output $program "$TEST_PROGRAMS/hsa_kernels.hsaco"
    tracesmith check t.sbt
    status 0 replay t.sbt
    grep -q 'checksums equal' out || fail "$program: nothing was compared"
    tsview t.sbt --json >view.json
    grep -q '"call":"aql_kernel_dispatch"' view.json || fail "$program: no packets"
    tsview t.sbt | grep taints && fail "$program: tainted"
    # A kernel that does nothing must be noticed.
    TS_EMU_NOOP=1 status 1 replay t.sbt
    rm -f t.sbt
done

# Memory of the GPU that the host could reach: it is the GPU's until the host is allowed to. Then what
# kernels wrote there is compared with TS_CHECKSUM=sync only.
export TS_EMU_HSA_BAR=large
for program in hsa_dispatch hsa_views; do
    [ $program = hsa_dispatch ] || export TS_CHECKSUM=sync
    same_output $program "$TEST_PROGRAMS/hsa_kernels.hsaco"
    tsview t.sbt | grep taints && fail "$program with a large BAR: tainted"
    status 0 replay t.sbt
    grep -q 'checksums equal' out || fail "$program with a large BAR: nothing was compared"
    TS_EMU_NOOP=1 status 1 replay t.sbt
    rm -f t.sbt
done
unset TS_EMU_HSA_BAR TS_CHECKSUM

# Stream by stream, with what each waits for: also what is sent after the packet that waits for it.
same_output hsa_queues "$TEST_PROGRAMS/hsa_kernels.hsaco"
streams=$(tsview t.sbt --json | sed -n 's/.*"stream":\([0-9]*\).*/\1/p' | sort -un)
[ "$(echo "$streams" | wc -l)" -ge 4 ] || fail "streams: $streams"
compared=0
for stream in $streams; do
    timeout 60 tsreplay --device emu --streams "$stream" t.sbt >out 2>err || [ $? = 3 ] ||
        fail "--streams $stream: $(cat out err)"
    ! grep -q 'checksums equal' out || compared=$((compared + 1))
done
[ "$compared" -ge 1 ] || fail "--streams: $compared streams compared"
rm -f t.sbt

# Copies alone: what no kernel computes cannot differ.
same_output hsa_host
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'all 10 checksums equal' out || fail "hsa_host: not all copies were compared"
rm t.sbt

same_output hsa_boxes
tracesmith check t.sbt
tsview t.sbt | grep taints && fail "hsa_boxes: tainted"
status 0 replay t.sbt
grep -q 'all 1 checksums equal' out || fail "hsa_boxes: what came back was not compared"
rm t.sbt

# A soft queue of the program's: its packets are there, and what it does for them.
same_output hsa_soft
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'all 6 checksums equal' out || fail "hsa_soft: not all copies were compared: $(cat out)"
[ "$(tsview t.sbt --calls aql_soft_dispatch | wc -l)" = 6 ] || fail "hsa_soft: not 6 packets: $(tsview t.sbt)"
tsview t.sbt | grep -q 'taints' && fail "hsa_soft: tainted"
:
