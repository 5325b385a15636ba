#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA C++ as nvcc compiles it, with and without optimisation and debug information, where a toolkit is
# installed: kernels that check themselves.
. "$(dirname "$0")/util.sh"
find_toolkit

# try CAPABILITY NVCC-OPTION...
try() {
    capability=$1
    shift
    "$nvcc" -ptx -std=c++17 "-arch=sm_$(echo "$capability" | tr -d .)" "$@" \
        "$TEST_SOURCE/tests/real/checks.cu" -o checks.ptx >nvcc.out 2>&1 || fail "$(cat nvcc.out)"
    export TS_EMU_CC=$capability
    plain run_checks checks.ptx >plain.out || fail "$*: $(cat plain.out)"
    grep -q '^0 of 15 kernels failed$' plain.out || fail "$*: $(cat plain.out)"
}

try 7.5 -O3 -G
try 9.0 -O3 -lineinfo
try 8.0 -O3
record t.sbt run_checks checks.ptx >record.out
cmp plain.out record.out
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt --check=1
TS_EMU_NOOP=1 plain run_checks checks.ptx >noop.out 2>&1 && fail 'the kernels did nothing, and nobody saw'
exit 0
