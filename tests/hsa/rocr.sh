# SPDX-License-Identifier: Apache-2.0
# In a virtual machine whose kernel has AMD's driver: AMD's own HSA runtime with its CPU's agent. What
# programs do there is recorded, and replayed there and on the software GPU to the same bytes.
. "$(dirname "$0")/tap.sh"
cd /tmp
tracesmith=/test/tools/tracesmith
[ -e /dev/kfd ] || { echo "no /dev/kfd: no driver for it"; exit 77; }
rocr() { LD_LIBRARY_PATH=/test/rocr "$@"; }

for program in hsa_host hsa_soft; do
    rocr /test/tests/hsa/$program > plain 2> /dev/null; ok $? "$program runs on AMD's runtime"
    LD_LIBRARY_PATH=/test/rocr LD_PRELOAD=/test/interpose/libts_capture.so TS_OUTPUT=t.sbt \
        TS_LOG=hsa/source/table:info /test/tests/hsa/$program > out 2> err
    ok $? "$program runs recorded"
    cmp plain out; ok $? "with the same output"
    grep -q '125 of 125 functions in the runtime.s table 0' err; ok $? "its runtime brought its table"
    $tracesmith check t.sbt; ok $? "the trace is sound"
    rocr $tracesmith replay t.sbt > out 2>&1; ok $? "replayed on AMD's runtime: $(cat out)"
    grep -q 'checksums equal' out; ok $? "and compared"
    TS_EMU_HSA_LIBRARY=/test/emu/libhsa-runtime64.so.1 $tracesmith replay --device emu t.sbt > out 2>&1
    ok $? "replayed on the software GPU: $(cat out)"
    rm -f t.sbt
done
# A program of AMD's: all that it asks, on its own runtime and on the software GPU's.
if [ -x /test/rocminfo ]; then
    for runtime in rocr emu; do
        LD_LIBRARY_PATH=/test/$runtime /test/rocminfo > plain 2> /dev/null
        ok $? "rocminfo runs on $runtime's runtime"
        LD_LIBRARY_PATH=/test/$runtime LD_PRELOAD=/test/interpose/libts_capture.so TS_OUTPUT=t.sbt \
            /test/rocminfo > out 2> err
        ok $? "and recorded"
        cmp plain out; ok $? "with the same output, $(wc -l < out) lines"
        $tracesmith check t.sbt && $tracesmith view t.sbt | grep -q ' hsa_agent_get_info('
        ok $? "and a sound trace"; $tracesmith view --failed t.sbt | sed 's/^/# /'
        rm -f t.sbt
    done
fi
echo "1..$count"
exit $failed
