#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA's mathematical functions, as nvcc compiles them: no further from the exact result than their
# documentation says.
. "$(dirname "$0")/../util.sh"
find_toolkit
"$nvcc" -ptx -arch=sm_75 "$TEST_SOURCE/tests/real/math.cu" -o math.ptx >nvcc.out 2>&1 ||
    fail "$(cat nvcc.out)"
export TS_EMU_CC=7.5
plain measure_math math.ptx >plain.out || fail "$(cat plain.out)"
grep -q '^0 of [0-9]* functions are too far off$' plain.out
record t.sbt measure_math math.ptx >record.out
cmp plain.out record.out
status 0 replay t.sbt --check=1
TS_EMU_NOOP=1 plain measure_math math.ptx >noop.out 2>&1 && fail 'the kernels did nothing, and nobody saw'
tail -n 1 noop.out | grep -q '^\([0-9]*\) of \1 functions' || fail "$(cat noop.out)"
