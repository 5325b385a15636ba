#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUDA C++ as nvcc compiles it, where a toolkit is installed: kernels that check themselves.
# `real_nvcc.sh NAME` takes tests/real/NAME.cu: the language, and what the toolkit's headers bring.
. "$(dirname "$0")/../util.sh"
find_toolkit

# try CAPABILITY NVCC-OPTION...
try() {
    capability=$1
    shift
    "$nvcc" -ptx -std=c++17 --extended-lambda "-arch=sm_$(echo "$capability" | tr -d .)" "$@" \
        "$TEST_SOURCE/tests/real/$source.cu" -o checks.ptx >nvcc.out 2>&1 || fail "$(cat nvcc.out)"
    export TS_EMU_CC="${capability%a}"
    plain run_checks checks.ptx >plain.out || fail "$*: $(cat plain.out)"
    grep -q "^0 of $count kernels failed$" plain.out || fail "$*: $(cat plain.out)"
}

source=$1
case $source in
checks) # the language, halves, matrices, cooperative groups
    count=15
    try 7.5 -O3 -G
    try 9.0 -O3 -lineinfo
    try 8.0 -O3
    ;;
random) # cuRAND
    count=9
    try 7.5 -O3
    ;;
small_floats) # computed below 8.9 and 10.0, instructions there
    count=7
    try 7.5 -O3
    try 9.0 -O3
    try 10.0 -O3
    ;;
libcuxx) # atomics, barriers, pipelines
    count=14
    try 7.5 -O3
    try 9.0 -O3
    ;;
clusters) # distributed shared memory, barriers of several blocks, bulk copies
    count=8
    try 9.0a -O3
    try 9.0a -G
    TS_EMU_SCHEDULE=random:7 TS_EMU_CHECK=race,blocks plain run_checks checks.ptx >races.out 2>&1
    if grep -q 'tracesmith emu' races.out; then fail "$(cat races.out)"; fi
    ;;
tensor_cores) # wgmma, tcgen05, cvt.rs
    count=2
    try 9.0a -O3
    try 10.0a -G
    try 10.0a -O3
    ;;
cub) # CUB and Thrust
    count=9
    try 7.5 -O3
    ;;
esac
record t.sbt run_checks checks.ptx >record.out
cmp plain.out record.out
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt --check=1
TS_EMU_NOOP=1 plain run_checks checks.ptx >noop.out 2>&1 && fail 'the kernels did nothing, and nobody saw'
grep -q "^$count of $count kernels failed$" noop.out || fail "$(cat noop.out)"
