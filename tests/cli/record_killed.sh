# SPDX-License-Identifier: Apache-2.0
# What was sent before SIGKILL is in the trace, and its last line says how it ended.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
tsrecord --emu sh -c '"$BUILD/tests/programs/many" 100000000 & sleep 1; kill -9 $!; wait $!' || echo "exit $?"
tracesmith check trace.sbt
tracesmith info trace.sbt | grep state
