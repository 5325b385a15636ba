#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_GPU_TIME=cupti, on a libcupti of the tests' own (tests/cupti/stand_in.c): the times in the trace are those that the
# device had, of nodes of launched graphs, too; the program and its replay notice nothing. Where CUPTI cannot be had, or
# fails at any call, one line says so and the trace says what took its place.
. "$(dirname "$0")/../util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
export TS_GPU_TIME=cupti TS_CUPTI="$TEST_CUPTI/libcupti.so.13" TS_TEST_CUPTI_LOG="$PWD/log"

# by TRACE: what its metadata say of times
by() {
    tsview --json "$1" | head -n 1 | jq -r '.metadata."cuda.gpu_time"'
}

# timed TRACE [OPTION...]: those times that there are are right
timed() {
    [ -n "${killed:-}" ] || tracesmith check "$1" >/dev/null || fail "$1 is damaged"
    tsview --json "$1" >records
    shift
    python3 "$TEST_SOURCE/tests/e2e/record/gpu_times.py" records --unordered >times 2>err || grep -q '^no times' err ||
        fail "wrong times: $(cat times err)"
    [ ! -e log ] || python3 "$TEST_SOURCE/tests/e2e/record/cupti_times.py" records log "$@" || fail "not the device's times"
}

# Every piece of work has its time.
for what in saxpy 'pipeline 4' 'streams 3' graphs captures staging threads overtakes pools functions 'many 6000'; do
    [ "$what" = graphs ] || chosen 1 || continue
    rm -f log t.sbt
    # shellcheck disable=SC2086
    same_output $what
    echo "$what"
    [ "$(by t.sbt)" = 'cupti 130001' ] || fail "$what: by $(by t.sbt)"
    case $what in graphs) nodes=40 ;; *) nodes=0 ;; esac
    timed t.sbt --all --nodes $nodes
    status 0 tracesmith clocks t.sbt
    [ "$what" = 'many 6000' ] || status 0 replay t.sbt # it has no results
done
rm -f log t.sbt
same_output graphs
tracesmith stats --section=commands t.sbt >out
grep -q cuLaunchKernel out || fail "stats show no nodes: $(cat out)"

# In virtual time commands are as long as the software GPU says itself.
export TS_EMU_TIME=virtual
same_output timed
tsview --json t.sbt >records
rm -f t.sbt
TS_GPU_TIME=events same_output timed
tsview --json t.sbt >other
python3 "$TEST_SOURCE/tests/e2e/record/cupti_times.py" records --lengths other || fail "other lengths in virtual time"
unset TS_EMU_TIME

# refused WHY PROGRAM [ARG...]: one line says so, and times come from elsewhere
refused() {
    why=$1
    shift
    rm -f log t.sbt
    plain "$@" >plain.out
    record t.sbt "$@" >record.out 2>record.err
    cmp plain.out record.out || fail "$why: another output"
    echo "$why"
    [ "$(grep -c 'TS_GPU_TIME=cupti: ' record.err)" = 1 ] || fail "$why: $(cat record.err)"
    grep -q "$why" record.err || fail "$why: $(cat record.err)"
    case $(by t.sbt) in 'the software GPU' | events) ;; *) fail "$why: by $(by t.sbt)" ;; esac
    rm -f log
    timed t.sbt
    grep -q '^0 of' times && fail "$why: no times"
    return 0
}
TS_CUPTI=/nowhere/libcupti.so.13 refused 'cannot open /nowhere' saxpy
TS_CUPTI="${TEST_CAPTURE%/*}/libts_audit.so" refused 'libcupti has no cupti' saxpy
TS_CUPTI='' refused 'the software GPU says itself' saxpy
TS_TEST_CUPTI_TAKEN=1 refused 'another tool uses CUPTI' saxpy
TS_TEST_CUPTI_VERSION=18 refused 'version 18 of libcupti is not known' saxpy
TS_TEST_CUPTI_VERSION=140000 refused 'version 140000 of libcupti is not known' saxpy
for call in GetVersion Subscribe ActivityRegisterCallbacks GetTimestamp ActivityEnable ActivityEnable:3; do
    chosen 1 || continue
    TS_EMU_EXACT=0 TS_TEST_CUPTI_FAIL=cupti$call refused 'an error of the tests' saxpy
done
TS_TEST_CUPTI_FAIL=cuptiActivityFlushAll refused 'cuptiActivityFlushAll: an error of the tests' 'many' 3000

# Other failures cost times, and nothing else.
for call in GetResultString Unsubscribe GetTimestamp:20 ActivityDisable ActivityGetNextRecord ActivityGetNextRecord:50 \
    ActivityGetNumDroppedRecords ActivityPushExternalCorrelationId ActivityPushExternalCorrelationId:5 \
    ActivityPopExternalCorrelationId ActivityPopExternalCorrelationId:5; do
    chosen 1 || continue
    rm -f log t.sbt
    plain graphs >plain.out
    TS_TEST_CUPTI_FAIL=cupti$call record t.sbt graphs >record.out 2>record.err
    cmp plain.out record.out || fail "$call: $(cat record.err)"
    echo "$call"
    rm -f log
    timed t.sbt
    status 0 replay t.sbt
done

# Killed: what was delivered by then is there.
killed=1
for delay in 0.3 0.6; do
    rm -f log t.sbt*
    kill_after $delay t.sbt many 1000000
    tsview t.sbt >/dev/null 2>err || continue # killed before its first call
    timed t.sbt
done
[ -e t.sbt ] || fail "nothing was recorded before a program was killed"
grep -q '^0 of' times && fail "no command has a time: $(cat times)"

killed=

# Children, contexts that are destroyed with work in them, captures beside work.
for what in relatives two releases ends asked 'in_place contexts' 'in_place capture'; do
    chosen 1 || continue
    rm -f log ./*.sbt
    # shellcheck disable=SC2086
    plain $what >plain.out 2>plain.err
    # shellcheck disable=SC2086
    record %p.sbt $what >record.out 2>record.err
    sort plain.out >plain.sorted
    sort record.out >record.sorted
    cmp plain.sorted record.sorted || fail "$what: another output"
    echo "$what"
    for trace in ./*.sbt; do
        rm -f log
        timed "$trace"
    done
done

# A program that uses CUPTI itself has it to itself.
for when in before after; do
    rm -f log t.sbt
    LD_LIBRARY_PATH=$TEST_EMU "$TEST_CUPTI/uses_cupti" "$TS_CUPTI" $when >plain.out
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=t.sbt "$TEST_CUPTI/uses_cupti" "$TS_CUPTI" $when \
        >record.out 2>record.err
    cmp plain.out record.out || fail "$when: $(cat record.out record.err)"
    grep -q 'TS_GPU_TIME=cupti: the program .* libcupti itself' record.err || fail "$when: $(cat record.err)"
    rm -f log # later times are the software GPU's own
    timed t.sbt
done

# Memory is bounded.
for settings in off cupti; do
    rm -f log t.sbt
    TS_GPU_TIME=$settings TS_OUTPUT=t.sbt LD_LIBRARY_PATH="$TEST_EMU" LD_PRELOAD="$preload" python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$TEST_PROGRAMS/many" 30000 >$settings.rss
done
[ "$(cat cupti.rss)" -lt $(($(cat off.rss) + 65536)) ] || fail "memory: $(cat off.rss cupti.rss)"
