#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times of commands where something goes wrong: a program killed with commands under way, events that the driver
# refuses, contexts that are destroyed or reset with work in them, very many commands without a wait, a capture that
# another thread begins meanwhile. The program notices nothing, what times there are are right, memory is bounded.
. "$(dirname "$0")/../util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
export TS_GPU_TIME=events TS_EMU_EXACT=0

# timed TRACE: those times that there are are right
timed() {
    tracesmith check "$1" >/dev/null
    tsview --json "$1" >records
    python3 "$TEST_SOURCE/tests/e2e/record/gpu_times.py" records >times 2>err || grep -q '^no times' err ||
        fail "$1: wrong times: $(cat times err)"
}

for delay in 0.05 0.2 0.4; do
    rm -f t.sbt*
    kill_after $delay t.sbt many 1000000
    tsview t.sbt >/dev/null 2>err || continue # killed before its first call
    timed t.sbt
done
[ -e t.sbt ] || fail "nothing was recorded before a program was killed"
grep -q '^0 of' times && fail "no command has a time: $(cat times)"

for program in 'in_place contexts' releases ends asked 'in_place capture'; do
    # shellcheck disable=SC2086
    same_output $program
    timed t.sbt
done

for call in cuEventCreate cuEventRecord cuEventElapsedTime cuEventQuery cuStreamCreate; do
    rm -f t.sbt
    plain saxpy >plain.out
    TS_TEST_NEXT=$TEST_EMU/libcuda.so.1 TS_TEST_FAIL=$call LD_LIBRARY_PATH=$TEST_PROGRAMS/failing LD_PRELOAD="$preload" \
        TS_OUTPUT=t.sbt "$TEST_PROGRAMS/saxpy" >record.out 2>record.err
    cmp plain.out record.out || fail "$call: $(cat record.err)"
    grep -q "failed: $call" record.err || fail "nothing of ours calls $call"
    timed t.sbt
    status 0 replay t.sbt
done

# Without a wait: pairs are used again.
for settings in off events; do
    rm -f t.sbt
    TS_GPU_TIME=$settings TS_OUTPUT=t.sbt LD_LIBRARY_PATH="$TEST_EMU" LD_PRELOAD="$preload" python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$TEST_PROGRAMS/many" 30000 >$settings.rss
done
[ "$(cat events.rss)" -lt $(($(cat off.rss) + 65536)) ] || fail "memory: $(cat off.rss events.rss)"
tracesmith stats --json t.sbt >out
[ "$(jq .measured_count out)" -gt 1000 ] || fail "too few times: $(jq .measured_count out)"
