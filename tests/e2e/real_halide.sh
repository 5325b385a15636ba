#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program of Debian's Halide, which compiles its kernels at run time and opens libcuda by itself.
. "$(dirname "$0")/util.sh"
[ -e /usr/include/halide14/Halide.h ] && command -v g++ >/dev/null || exit 77
g++ -O1 -I/usr/include/halide14 "$TEST_SOURCE/tests/real/halide_blur.cpp" -o halide_blur \
    -lHalide14 -lpthread -ldl
LD_LIBRARY_PATH=$TEST_EMU ./halide_blur >plain
LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt ./halide_blur >recorded
cmp plain recorded
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt
status 0 replay t.sbt --check=2
