#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a trace of HSA says: kernels by name, grids, the stack that rang the doorbell.
. "$(dirname "$0")/../e2e/util.sh"
record t.sbt hsa_dispatch "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
tsview t.sbt --stacks >view.txt
grep -q 'aql_kernel_dispatch scale.kd<<<1000, 64>>>' view.txt || fail "no launch of scale"
grep -A1 'aql_kernel_dispatch add.kd' view.txt | grep -q 'compute\|main' || fail "no stack"
[ "$(grep -c aql_kernel_dispatch view.txt)" = 201 ] || fail "not 201 packets"
grep -q 'isa="tracesmith-x86_64--"' view.txt || fail "no agent"
# Arguments by the kernel's description: an address, then a float of unknown type, which is guessed.
grep -q 'aql_kernel_dispatch scale.kd<<<1000, 64>>>(.*arguments=(0x[0-9a-f]*\( #[0-9]*\)*, 0x[0-9a-f]* ~[0-9.]*)' view.txt ||
    fail "arguments of scale are not decoded: $(grep -m1 scale.kd view.txt)"
# Nothing of ours is in a stack.
! grep -q 'hook_hsa\|hsa_queue_ring' view.txt || fail "frames of ours"
