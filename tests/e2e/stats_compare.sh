#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares recordings in virtual time, which has no noise: one with another of the same, and with that of a slower machine.
. "$(dirname "$0")/util.sh"

record_timed() # FILE: records, with times of the device
{
    TS_EMU_TIME=virtual "$TEST_BIN/tsrecord" -q --emu --gpu-time=1 -o "$1" -- "$TEST_PROGRAMS/pipeline" 4 >/dev/null
}

record_timed a.sbt
record_timed again.sbt
TS_EMU_MACHINE=kernel_ns=2200,copy_latency_ns=2000 record_timed late.sbt

"$TEST_BIN/tracesmith" stats --compare --threshold=0 a.sbt again.sbt >same.txt || fail "a run is slower than the same one"
grep -q '^0 slower, 0 faster, 0 unsure' same.txt || fail "two runs differ: $(cat same.txt)"

# The host's calls have noise in virtual time, too: one alone proves nothing, however long it took.
"$TEST_BIN/tracesmith" stats --compare --json --threshold=0 --section=kernels,calls a.sbt again.sbt >calls.json || true
jq -e '[.calls[] | select(.count_a == 1 and .count_b == 1)] | length > 0 and all(.change == "unsure" or .change == "none")' \
    calls.json >/dev/null || fail "calls: $(cat calls.json)"
jq -e '[.kernels[].change] | unique == ["none"]' calls.json >/dev/null || fail "kernels: $(cat calls.json)"

status=0
"$TEST_BIN/tracesmith" stats --compare --json a.sbt late.sbt >late.json || status=$?
[ $status = 1 ] || fail "slower: exit status $status"
slower=$(jq -r '[.kernels[], .copies[] | select(.change == "slower") | .name] | sort | join(",")' late.json)
[ "$slower" = "copy,device to host,host to device,mix" ] || fail "slower: $slower"

"$TEST_BIN/tracesmith" stats --compare late.sbt a.sbt >faster.txt || fail "faster counts as slower"
grep -q '^0 slower, 4 faster' faster.txt || fail "faster: $(cat faster.txt)"

"$TEST_BIN/tracesmith" stats --compare --markdown a.sbt late.sbt >late.md || true
grep -q '^| slower | +' late.md || fail "markdown: $(cat late.md)"

"$TEST_BIN/tracesmith" stats --compare --section=copies,waits a.sbt again.sbt >titles.txt || true
[ "$(grep -c -e '^copies and fills$' -e '^waits of the host for the device$' titles.txt)" = 2 ] || fail "titles: $(cat titles.txt)"

for wrong in "a.sbt late.sbt" "--compare a.sbt" "--compare --by=site a.sbt a.sbt" "--compare --section=memory a.sbt a.sbt" \
    "--csv --json a.sbt" "--compare --threshold=x a.sbt a.sbt" "--by=colour a.sbt"; do
    "$TEST_BIN/tracesmith" stats $wrong >/dev/null 2>wrong.txt && fail "$wrong: accepted"
    grep -q stats wrong.txt || fail "$wrong: no message"
done
