# SPDX-License-Identifier: Apache-2.0
# What the CPUs did, by eBPF, in the program's trace. Where the kernel takes no such programs: a
# sentence, and the program does not run.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
for which in nonsense pid=0 pid=1,cgroup=/none device=8 buffer=9G; do
    tsrecord --cpu=$which -- true || echo "exit $?"
done
# There are machines on which some threads' switches cannot be seen: where they leave a gap, try again.
for try in 1 2 3 4 5 6 7 8 9 10; do
    rm -f trace.sbt
    if ! tsrecord -q --cpu --emu -- "$BUILD/tests/programs/saxpy" > out 2> said; then
        grep -E 'does not take eBPF programs|has no eBPF' said > /dev/null || cat said >&2
        [ -s out ] || exit 77
    fi
    tracesmith merge -q trace.sbt > merged
    ! grep -q '^off_cpu  *4 ' merged || break
done
cat out
rm merged
ls
tracesmith check trace.sbt
tracesmith merge -q trace.sbt | sed -n 's/^[0-9]* CPU events; .*, unread 0$/some events/p
    s/^collector: [0-9]* events, .*/collector/p; s/^\(off_cpu\|total\) *\([0-9]*\) .*/\1 \2/p'
tsrecord -q --cpu=pid=1 --emu -- "$BUILD/tests/programs/saxpy"
tracesmith merge -q trace.sbt | grep -o 'left out on request'
