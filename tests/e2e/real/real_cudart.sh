#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program of the CUDA runtime, as nvcc builds it with -cudart shared: plain, recorded, replayed. In one file and in
# parts; with the legacy default stream and each thread's own. What a program without PTX for the device is told.
. "$(dirname "$0")/../util.sh"
find_toolkit

# build OUTPUT NVCC-OPTION...
build() {
    output=$1
    shift
    "$nvcc" -std=c++17 -cudart shared "$@" -o "$output" >nvcc.out 2>&1 || fail "$(cat nvcc.out)"
}

# try PROGRAM: as it runs, so it is recorded and replayed; kernels that do nothing are seen
try() {
    TEST_PROGRAMS=$work
    same_output "$1"
    grep -q '^0 of [0-9]* checks failed$' plain.out || fail "$1: $(cat plain.out plain.err)"
    tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
    status 0 replay t.sbt
    grep -q 'checksums equal' out || fail "$(cat out)"
    TS_EMU_NOOP=1 status 1 replay t.sbt
    TS_EMU_NOOP=1 plain "$1" >noop.out 2>&1 && fail 'the kernels did nothing, and nobody saw'
    record u.sbt "$1" >again.out
    status 0 tsdiff t.sbt u.sbt
    rm t.sbt u.sbt
}

# cross PROGRAM: the same on machines and recorders of every kind
cross() {
    for setting in TS_EMU_TIME=virtual TS_EMU_STREAMS=serial TS_EMU_SCHEDULE=reverse TS_EMU_SCHEDULE=random:5 \
            TS_EMU_CHECK=all TS_EMU_THREADS=auto TS_EMU_DEVICES=2 TS_EMU_CC=12.0 TS_EMU_LATE=5 TS_EMU_POISON=170 \
            TS_CHECKSUM=sync TS_CHECKSUM=submit TS_CHECKPOINT=1; do
        export "${setting?}"
        record c.sbt "$1" >out 2>err || fail "$setting: $(cat out err)"
        status 0 replay c.sbt
        unset "${setting%%=*}"
        rm c.sbt
    done
}

source=$TEST_SOURCE/tests/real
build whole "$source/runtime.cu"
try whole
cross whole
build per_thread -default-stream per-thread "$source/runtime.cu"
try per_thread
build parts -rdc=true -DPARTS "$source/runtime.cu" "$source/runtime_part.cu"
try parts
cross parts

# Machine code alone; PTX for newer devices alone.
told() {
    plain refused >out 2>err && fail 'it ran without PTX for the device'
    grep -q "$1" err || fail "$(cat err)"
    grep -q 'TS_EMU_CC' err || fail "$(cat err)"
}
build refused -gencode arch=compute_75,code=sm_75 "$source/runtime.cu"
told 'machine code for sm_75 without PTX'
build refused -arch=sm_90 "$source/runtime.cu"
told 'the PTX in this image is for sm_90 and later; the device is sm_75'
TS_EMU_CC=9.0 plain refused >out 2>err || fail "$(cat out err)"
