#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the software GPU refuses, with a reason: a barrier in a kernel whose work-items have no stacks, when it
# is called; a code object for an AMD GPU, when it is loaded.
. "$(dirname "$0")/../e2e/util.sh"
status 0 plain hsa_barriers "$TEST_PROGRAMS/hsa_kernels.hsaco" refused
grep -q 'TRACESMITH_HSA_BARRIER_KERNEL' err || fail "no reason"
[ -r "$TEST_PROGRAMS/gfx_kernels.hsaco" ] || exit 77 # no compiler for AMD GPUs here
status 1 plain hsa_dispatch "$TEST_PROGRAMS/gfx_kernels.hsaco"
grep -q 'hsa_executable_load_agent_code_object' err || fail "it was not the load that failed"
grep -q 'instruction set is tracesmith-x86_64--' err || fail "no reason"
