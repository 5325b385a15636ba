# SPDX-License-Identifier: Apache-2.0
# A recorded program behaves as always; one line on stderr says what was recorded, -q none.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
tsrecord --emu "$BUILD/tests/programs/saxpy"
tsrecord -q --emu -o 'q-%p.sbt' "$BUILD/tests/programs/saxpy"
tsrecord --emu --gpu-time=1 -o time.sbt "$BUILD/tests/programs/saxpy" > /dev/null
rm time.sbt
ls | sed 's/[0-9][0-9]*/N/'
tracesmith check trace.sbt
tsview --calls 'cuLaunch*' --stacks trace.sbt | grep -oE 'cuLaunch[^(]*|^ +main at' | sed 's/^ *//'
