#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program of Debian's Halide, which compiles its kernels at run time and opens libcuda by itself.
. "$(dirname "$0")/../util.sh"
[ -e /usr/include/halide14/Halide.h ] && command -v g++ >/dev/null || exit 77
g++ -O1 -I/usr/include/halide14 "$TEST_SOURCE/tests/real/halide_blur.cpp" -o halide_blur \
    -lHalide14 -lpthread -ldl
LD_LIBRARY_PATH=$TEST_EMU ./halide_blur >plain
LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt ./halide_blur >recorded
cmp plain recorded
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt
status 0 replay t.sbt --check=2
TS_EMU_NOOP=1 LD_LIBRARY_PATH=$TEST_EMU ./halide_blur >noop && fail 'the kernels did nothing, and nobody saw'
# Under every check nothing is found, and nothing changes; nor when every instruction is sampled.
LD_LIBRARY_PATH=$TEST_EMU TS_EMU_CHECK=all TS_EMU_REPORT=report.json TS_EMU_PROFILE=p \
    TS_EMU_PROFILE_EVERY=1 ./halide_blur >checked 2>found
cmp plain checked
[ ! -s found ] && [ ! -e report.json ] || fail "$(cat found)"
tracesmith profile --json p >profile.json
[ "$(field profile.json samples)" -gt 10000 ] || fail "only $(field profile.json samples) samples"
