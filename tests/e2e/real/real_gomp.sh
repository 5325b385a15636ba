#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenMP offloading as Debian's GCC has it: libgomp's plugin opens libcuda by itself and links PTX.
. "$(dirname "$0")/../util.sh"
command -v gcc-12 >/dev/null && [ -e /usr/lib/x86_64-linux-gnu/libgomp-plugin-nvptx.so.1 ] &&
    [ -e /usr/lib/gcc/x86_64-linux-gnu/12/accel/nvptx-none/mkoffload ] || exit 77
# A PATH without the CUDA toolkit: its ptxas refuses the sm_30 that GCC's assembler asks it for.
build() {
    PATH=/usr/bin:/bin gcc-12 -O1 -fopenmp "$1" "$TEST_SOURCE/tests/real/offload.c" -o "$2" 2>build.err ||
        fail "$(cat build.err)"
}
build -foffload=disable on_host
build -foffload=nvptx-none offload
./on_host >wanted
export OMP_TARGET_OFFLOAD=MANDATORY
LD_LIBRARY_PATH=$TEST_EMU ./offload >plain
cmp wanted plain
LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt ./offload >recorded
cmp wanted recorded
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt --check=1
TS_EMU_NOOP=1 LD_LIBRARY_PATH=$TEST_EMU ./offload >noop 2>&1 || true
! cmp -s wanted noop || fail 'the kernels did nothing, and nobody saw'
# The runtime keeps the stacks of its threads in device memory, where each launch leaves what chance brings. No result depends
# on that, as the accesses say.
PATH=/usr/bin:/bin gcc-12 -O1 -fopenmp "$TEST_SOURCE/tests/real/offload_stacks.c" -foffload=nvptx-none -o stacks 2>build.err ||
    fail "$(cat build.err)"
for accesses in 0 1; do
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=$accesses.sbt TS_ACCESSES=$accesses ./stacks >recorded
done
status 1 replay 0.sbt --check=1
status 0 replay 1.sbt --check=1 --json
[ "$(field out scratch_byte_count)" -gt 0 ] || fail "no scratch memory: $(cat out)"
