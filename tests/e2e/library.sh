#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libtracesmith and its headers are enough to replay and compare traces.
. "$(dirname "$0")/util.sh"
record t.sbt pipeline >/dev/null
"$TEST_PROGRAMS/use_library" t.sbt "$TEST_EMU/libcuda.so.1" >out
grep -q '^diff 0, replay 0, [1-9][0-9]* checksums$' out || fail "$(cat out)"
