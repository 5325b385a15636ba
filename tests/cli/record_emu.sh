# SPDX-License-Identifier: Apache-2.0
# A recorded program behaves as always; one line on stderr says what was recorded, -q none.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
tsrecord --emu "$BUILD/tests/programs/saxpy"
tsrecord -q --emu -o 'q-%p.sbt' "$BUILD/tests/programs/saxpy"
tsrecord --emu --gpu-time=1 -o time.sbt "$BUILD/tests/programs/saxpy" > /dev/null
tsview time.sbt | grep -c 'gpu_time('
rm time.sbt
ls | sed 's/[0-9][0-9]*/N/'
tracesmith check trace.sbt
tsview --calls 'cuLaunch*' --stacks trace.sbt | grep -oE 'cuLaunch[^(]*|^ +main at' | sed 's/^ *//'
# Findings that TS_EMU_EXIT turns into the exit status leave the trace whole.
TS_TEST_PTX="$TESTS/../programs/kernels.ptx" TS_EMU_CHECK=all TS_EMU_EXIT=99 \
    tracesmith record -q --emu -o findings.sbt "$BUILD/tests/programs/wrong" uninit > /dev/null 2>&1 || echo "status $?"
tracesmith info findings.sbt | grep -c complete
