# SPDX-License-Identifier: Apache-2.0
# What was sent before SIGKILL is in the trace, and its last line says how it ended.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
# Killed when it has written a chunk or more of launches, however long the machine takes for that.
tsrecord --emu sh -c '"$BUILD/tests/programs/many" 100000000 & child=$!
    while [ "$(stat -c %s trace.sbt 2>/dev/null || echo 0)" -lt 150000 ]; do
        kill -0 $child && sleep 0.02 || exit 1
    done
    exec 2>/dev/null # not every time does the shell say "Killed"
    kill -9 $child; wait $child' || echo "exit $?"
tracesmith check trace.sbt
tracesmith info trace.sbt | grep state
