#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A runtime that offers its functions in tables: each call is recorded once, whichever doors are open,
# and a runtime that is seen by its tables alone gives the trace that one gives that is linked.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77 # the runtime below is opened before a sanitizer's
cp "$TEST_EMU/libhsa-runtime64.so.1" copy.so
cp "$TEST_PROGRAMS/libtable_runtime.so" libhsa-runtime64.so.1
cp libhsa-runtime64.so.1 static.so # a name that says nothing to us
export TEST_HSA="$PWD/copy.so"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco

# How often which call is in the trace; polls may differ. A table has one function for two names.
calls() {
    tsview --json t.sbt | sed -n 's/.*"call":"\([^"]*\)".*/\1/p' | grep -v 'signal_load' |
        sed 's/_acquire$/_scacquire/' | sort | uniq -c >"$1"
}

# on_tables PROGRAM [ARGUMENT]: recorded with the runtime above
on_tables() {
    rm -f t.sbt
    LD_LIBRARY_PATH=$PWD LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt "$TEST_PROGRAMS/$1" "$kernels" ${2:-} \
        >out 2>err || fail "$*: $(cat err)"
    tracesmith check t.sbt
}

# What the program asks for, a table of an extension, leads to us, too.
on_tables hsa_images
tsview t.sbt | grep -q ' hsa_ext_sampler_create(.*HSA_STATUS_ERROR' || fail "images go past: $(tsview t.sbt)"

# A child from which the preload library was taken: the tool that it inherits does nothing.
rm -f t.sbt
tool=$(dirname "$TEST_CAPTURE")/shim/libts_hsa_tool.so
[ -r "$tool" ] || fail "no $tool"
HSA_TOOLS_LIB=$tool TEST_DOOR=tools LD_LIBRARY_PATH=$PWD TS_OUTPUT=t.sbt \
    "$TEST_PROGRAMS/hsa_dispatch" "$kernels" >out 2>err || fail "tool alone: $(cat err)"
[ ! -e t.sbt ] || fail "recorded without being asked"

# Code that a finalizer has made, which a runtime offers in a table: its bytes are in the trace.
TEST_FINALIZED=$kernels on_tables hsa_finalized
grep -q right out || fail "hsa_finalized: $(cat out err)"
tsview t.sbt | grep taints && fail "hsa_finalized: tainted"
status 0 replay t.sbt
grep -q 'checksums equal' out || fail "hsa_finalized: nothing was compared"
on_tables hsa_finalized
grep -q 'no finalizer' out || fail "a finalizer from nowhere: $(cat out err)"

# Agent dispatches for an agent of which nobody knows what it does with them: said, and replay does not hang.
TEST_VENDOR=somebody on_tables hsa_agents
[ "$(tsview t.sbt | grep -c 'aql_agent_dispatch.*taints')" = 3 ] || fail "not tainted: $(tsview t.sbt)"
timeout 60 tsreplay --device emu t.sbt >out 2>err && fail "the same without its agent: $(cat out)"
grep -q 'results differ, but.*: aql_agent_dispatch' out || fail "hsa_agents: $(cat out err)"

# A profiler behind us, through which packets pass: what comes out of it is recorded.
HSA_TOOLS_LIB=$TEST_PROGRAMS/libpassing_tool.so TEST_DOOR=tools on_tables hsa_queues
grep -q '^[1-9][0-9]* packets passed' err || fail "the tool saw nothing: $(cat err)"
tsview t.sbt | grep -q hsa_amd_queue_intercept_create || fail "the tool's queues are not recorded"
tsview t.sbt | grep taints && fail "with a tool: tainted"
status 0 replay t.sbt
grep -q 'checksums equal' out || fail "with a tool: nothing was compared"

on_tables hsa_dispatch
calls plain
[ "$(wc -l <plain)" -gt 10 ] || fail "nothing recorded: $(cat plain)"
for door in register tools; do
    for layout in '2 125 71' '2 125 160' '1 125 48' '2 60 20' '1 125 51' '9 125 71'; do
        set -- $layout
        TEST_DOOR=$door TEST_MAJOR=$1 TEST_CORE=$2 TEST_AMD=$3 on_tables hsa_dispatch
        calls now
        cmp -s plain now || fail "$door, layout $layout: $(diff plain now)"
    done
    TEST_DOOR=$door on_tables hsa_opened "$PWD/static.so" # "hsa" in its path: see hsa_opening()
    calls tables
    status 0 replay t.sbt
    grep -q 'checksums equal' out || fail "$door, by its table: nothing was compared"
    on_tables hsa_opened
    calls opened
    cmp -s opened tables || fail "$door, by its table: $(diff opened tables)"
    TEST_DOOR=$door TS_LOG=hsa/source/table:info on_tables hsa_dispatch
    grep -q '125 of 125 functions in the runtime.s table 0' err || fail "$door: not taken: $(cat err)"
done
