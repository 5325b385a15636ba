#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA C++ that a program compiles itself, with NVRTC, which loads the driver on its own account: optimised,
# with debug information, and with line numbers.
. "$(dirname "$0")/../util.sh"
find_toolkit
[ -e "$toolkit/lib64/libnvrtc.so" ] && [ -e "$toolkit/include/mma.h" ] || exit 77
TEST_EMU=$TEST_EMU:$toolkit/lib64

for way in '7.5 -G' '9.0 -lineinfo' '8.0 --use_fast_math'; do
    capability=${way% *}
    export TS_EMU_CC="$capability"
    set -- "$TEST_SOURCE/tests/real/checks.cu" "-arch=compute_$(echo "$capability" | tr -d .)" \
        "${way#* }" -std=c++17 -default-device --device-int128 "-I$toolkit/include" \
        "-I$toolkit/include/cccl" "-I$TEST_SOURCE/tests/real"
    rm -f t.sbt
    record t.sbt run_checks "$@" >record.out || fail "$way: $(cat record.out)"
    grep -q '^0 of 15 kernels failed$' record.out || fail "$way: $(cat record.out)"
    tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
    status 0 replay t.sbt --check=1
done
TS_EMU_NOOP=1 plain run_checks "$@" >noop.out 2>&1 && fail 'the kernels did nothing, and nobody saw'
grep -q '^15 of 15 kernels failed$' noop.out || fail "$(cat noop.out)"
