#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a program ends with HSA, its trace is whole, and replays to an end.
. "$(dirname "$0")/../e2e/util.sh"
same_output hsa_ends "$TEST_PROGRAMS/hsa_kernels.hsaco"
tracesmith check t.sbt
tsview t.sbt | grep -q 'hsa_queue_destroy(.*in_flight=1)' || fail "not in flight: $(tsview t.sbt | grep destroy)"
status 0 replay --timeout 30 t.sbt
grep -q 'all 2 checksums equal' out || fail "not compared: $(cat out)"

{ record killed.sbt hsa_ends "$TEST_PROGRAMS/hsa_kernels.hsaco" killed; } >killed.out 2>killed.err && fail "not killed"
cmp plain.out killed.out || fail "another output"
status 0 replay --timeout 30 killed.sbt
grep -q 'all 2 checksums equal' out || fail "not compared: $(cat out)"

# What waits for the program when it ends, waits no more in a replay.
record waiting.sbt hsa_ends "$TEST_PROGRAMS/hsa_kernels.hsaco" waiting >waiting.out
cmp plain.out waiting.out || fail "another output"
tsview waiting.sbt | grep -q 'aql_barrier_value(.*CONDITION_LT' || fail "no packet that waits for a value"
status 0 replay --timeout 30 waiting.sbt
grep -q 'all 2 checksums equal' out || fail "not compared: $(cat out)"
grep -q 'wait for 2 signals of the program' err || fail "what was waited for? $(cat err)"
