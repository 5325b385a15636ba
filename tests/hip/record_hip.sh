#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HIP's calls are recorded once each, by exports and by the library's table, with their arguments, and beside another tool; and
# the packets and copies of HSA that they make name them. A replay sends HSA's part.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
cp "$TEST_HIP/libstandin_hip.so" libamdhip64.so.6
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco

app() {
    rm -f t.sbt
    LD_LIBRARY_PATH=$PWD:$TEST_EMU LD_PRELOAD="${before:-} $TEST_CAPTURE ${behind:-}" TS_OUTPUT=t.sbt \
        "$TEST_HIP/hip_app" "$kernels" >out 2>err || fail "hip_app: $(cat out err)"
    grep -q 'right, 17' out || fail "the program's output: $(cat out err)"
    tracesmith check t.sbt
    tsview t.sbt >view.txt
}

calls() {
    tsview --json "$@" t.sbt | sed -n 's/.*"call":"\([^"]*\)".*/\1/p' | sort | uniq -c
}

for rows in '' 462 200 700; do
    [ -z "$rows" ] || export TEST_DOOR=register TEST_ROWS=$rows
    app
    calls --calls 'hip*' >calls.txt
    [ -e plain ] || cp calls.txt plain
    cmp -s plain calls.txt || fail "table of $rows: $(diff plain calls.txt)"
    calls --calls '[!h]*' >rest.txt
    [ -e plain_rest ] || cp rest.txt plain_rest
    cmp -s plain_rest rest.txt || fail "table of $rows: $(diff plain_rest rest.txt)"
done
# Another tool that takes the table, in front of us and behind: it sees what it would, and so do we.
for place in before behind; do
    eval "$place=$TEST_HIP/other_profiler.so"
    TEST_ROWS=462 app
    before='' behind=''
    grep -q '^profiler: 2 2$' err || fail "the profiler $place: $(cat err)"
    calls --calls 'hip*' >calls.txt
    cmp -s plain calls.txt || fail "a profiler $place: $(diff plain calls.txt)"
    calls --calls '[!h]*' >rest.txt
    cmp -s plain_rest rest.txt || fail "a profiler $place: $(diff plain_rest rest.txt)"
done
[ "$(awk '{n += $1} END {print n}' plain)" = 16 ] || fail "not 16 calls: $(cat plain)"

grep -q 'hipModuleLaunchKernel(.*blockDimX=64' view.txt || fail "no arguments: $(cat view.txt)"
grep -q 'hipModuleLaunchKernel(.*kernel="scale"' view.txt || fail "no name of a function's kernel"
grep -q 'hipLaunchKernel(.*kernel="add"' view.txt || fail "no name of a host function's kernel"
grep -q 'hipModuleGetFunction(.*kname="scale"' view.txt || fail "no name: $(cat view.txt)"
grep -q 'hipModuleGetFunctionCount(.*count=2' view.txt || fail "no number of functions"
grep -q 'hipMemcpy(.*kind=hipMemcpyHostToDevice' view.txt || fail "no kind"
grep -q 'hipFree(.*hipErrorInvalidDevicePointer' view.txt || fail "no error"
for pair in 'aql_kernel_dispatch scale.kd:hipModuleLaunchKernel' 'hsa_memory_copy:hipMemcpy' \
    'hsa_amd_memory_pool_allocate:hipMalloc' 'aql_barrier_and:hipStreamSynchronize'; do
    call=${pair%:*} parent=${pair#*:}
    number=$(sed -n "s/.*$call.* < $parent #\([0-9]*\)\$/\1/p" view.txt | head -1)
    [ "$number" ] || fail "$call does not name $parent: $(grep "$call" view.txt)"
    grep -q "^ *$number .* $parent(" view.txt || fail "#$number is no $parent"
done
# What the library does before the program's first call, belongs to none.
grep 'hsa_init' view.txt | grep -q ' < ' && fail "hsa_init has a parent"
tsview t.sbt --json | grep '"call":"aql_kernel_dispatch"' | grep -q '"parent":[0-9]*,"parent_call":"hip' ||
    fail "JSON: no parent"

TS_STACKS=commands app
tsview --stacks t.sbt | grep -A2 ' hipModuleLaunchKernel(' | grep -q 'launch\|main' || fail "no stacks"
# Of a packet: HIP's own frames and the program's, not those of what records.
tsview --stacks --calls=aql_kernel_dispatch t.sbt >stacks
grep -q 'do_launch.*libamdhip64' stacks || fail "no stacks of packets: $(cat stacks)"
grep -q 'main .*hip_app' stacks || fail "no stacks up to the program: $(cat stacks)"
grep -q 'libts_capture' stacks && fail "we are in stacks: $(cat stacks)"
mv t.sbt other.sbt
app
status 0 tsdiff other.sbt t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out || fail "nothing was compared"
grep -q 'taint\|not modelled' out err && fail "HIP's calls are in the way: $(cat out err)"
TS_EMU_NOOP=1 status 1 replay t.sbt
grep -q 'made by  *hipMemcpy, record [0-9]' out || fail "whose copy differs? $(cat out)"
TS_EMU_NOOP=1 status 1 replay --json t.sbt
grep -q '"differences":.*"parent":[0-9]*,"parent_call":"hipMemcpy"' out || fail "JSON: whose copy? $(cat out)"
tracesmith merge --json t.sbt >merge.json 2>err || fail "merge: $(cat err)"
grep -q '"call":"aql_kernel_dispatch","parent":[0-9]*,"parent_call":"hipModuleLaunchKernel"' merge.json ||
    fail "merge: whose kernel? $(cat merge.json)"
tracesmith merge --perfetto=- t.sbt 2>err >perfetto.json
grep -q '"parent_call":"hipModuleLaunchKernel"' perfetto.json || fail "Perfetto: whose kernel?"
tracesmith merge --list t.sbt 2>err | grep -q 'aql_kernel_dispatch < hipModuleLaunchKernel' || fail "merge: $(cat err)"
