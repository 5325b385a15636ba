#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A code object for an AMD GPU is refused by the software GPU with a reason, when it is loaded.
. "$(dirname "$0")/../e2e/util.sh"
[ -r "$TEST_PROGRAMS/gfx_kernels.hsaco" ] || exit 77 # no compiler for AMD GPUs here
status 1 plain hsa_dispatch "$TEST_PROGRAMS/gfx_kernels.hsaco"
grep -q 'hsa_executable_load_agent_code_object' err || fail "it was not the load that failed"
grep -q 'instruction set is tracesmith-x86_64--' err || fail "no reason"
