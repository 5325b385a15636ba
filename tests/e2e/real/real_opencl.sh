#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenCL C, as Debian's clang compiles it to PTX with libclc: kernels that check themselves.
. "$(dirname "$0")/../util.sh"
library=/usr/lib/clc/nvptx64--nvidiacl.bc
command -v clang-15 >/dev/null && [ -e $library ] && [ -e /usr/include/clc/clc.h ] || exit 77
export TS_EMU_CC=7.0
for level in -O0 -O3; do
    clang-15 -x cl -cl-std=CL1.2 --target=nvptx64--nvidiacl -include clc/clc.h $level \
        -Xclang -mlink-builtin-bitcode -Xclang $library -Xclang -target-cpu -Xclang sm_70 \
        -Dcl_clang_storage_class_specifiers -S "$TEST_SOURCE/tests/real/opencl.cl" -o checks.ptx
    plain run_checks checks.ptx >plain.out || fail "$level: $(cat plain.out)"
    grep -q '^0 of 6 kernels failed$' plain.out
done
record t.sbt run_checks checks.ptx >record.out
cmp plain.out record.out
status 0 replay t.sbt --check=1
TS_EMU_NOOP=1 plain run_checks checks.ptx >noop.out 2>&1 && fail 'the kernels did nothing, and nobody saw'
grep -q '^6 of 6 kernels failed$' noop.out || fail "$(cat noop.out)"
