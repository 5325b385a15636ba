#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory and signals of another process: both traces replay alone; who attached memory of another one's
# GPU is told that it may have changed since.
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
plain hsa_processes "$kernels" >plain.out
record '%p.sbt' hsa_processes "$kernels" >record.out
cmp plain.out record.out || fail "recording changed the output"
[ "$(ls *.sbt | wc -l)" = 2 ] || fail "not two traces: $(ls)"
for trace in *.sbt; do
    tracesmith check "$trace"
    tsview "$trace" >view.txt
    if grep -q hsa_amd_ipc_memory_attach view.txt; then
        grep -q 'unmodelled.*another process.*taints' view.txt || fail "not tainted"
        status 2 replay "$trace" --json
        [ "$(field out difference_count)" = 0 ] || fail "the other process's memory was not there: $(cat out)"
        [ "$(field out checksum_count)" -ge 1 ] || fail "nothing was compared"
        TS_EMU_NOOP=1 status 2 replay "$trace" # differs, and the other process may be why
        grep -q 'results differ, but.*: writes of another process' out || fail "$(cat out)"
    else
        grep -q taints view.txt && fail "sharing tainted: $(grep taints view.txt)"
        grep -q 'hsa_signal_store.*value=0' view.txt || fail "who has set the signal?"
        timeout 60 tsreplay --device emu "$trace" >out 2>err || [ $? = 1 ] || fail "hangs: $(cat out err)"
        grep -q 'readback\|hsa_memory_copy' out || fail "what the other one wrote cannot be right: $(cat out)"
    fi
done

# The same as files, which one process makes of its memory.
rm ./*.sbt
plain hsa_files "$kernels" >plain.out
record '%p.sbt' hsa_files "$kernels" >record.out
cmp plain.out record.out || fail "recording hsa_files changed the output"
for trace in *.sbt; do
    tracesmith check "$trace"
    tsview "$trace" >view.txt
    if grep -q hsa_amd_interop_map_buffer view.txt; then
        [ "$(grep -c hsa_memory_content view.txt)" = 2 ] || fail "what came is not in the trace: $(cat view.txt)"
        grep -q 'unmodelled.*another process.*taints' view.txt || fail "not tainted"
        status 2 replay "$trace" --json
        [ "$(field out difference_count)" = 0 ] || fail "what came was not there: $(cat out)"
        [ "$(field out checksum_count)" -ge 1 ] || fail "nothing was compared"
        TS_EMU_NOOP=1 status 2 replay "$trace" # differs, and the other process may be why
        grep -q 'results differ, but.*: writes of another process' out || fail "$(cat out)"
    else
        grep -q taints view.txt && fail "giving away tainted: $(grep taints view.txt)"
        timeout 60 tsreplay --device emu "$trace" >out 2>err || [ $? = 3 ] || fail "$(cat out err)"
    fi
done
