#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The preload library, built with a sanitizer, in whole programs: same output, a trace without fault, and
# nothing for the sanitizer to say. (The software GPU finds no room for a replay beside its shadow.)
. "$(dirname "$0")/../util.sh"
[ -n "${TEST_SANITIZED:-}" ] || exit 77
try() {
    same_output "$@"
    tracesmith check t.sbt
}
programs="saxpy copies pointers managed pools virtual linked pipeline threads functions graphs captures"
launches=20000
if [ "$TEST_SANITIZED" = thread ]; then # slower by far; and races need threads
    programs="managed pipeline threads functions graphs captures"
    launches=4000
fi
for program in $programs; do
    try "$program"
done
try hostmem callback
export TS_LANE_SIZE=256K TS_STACKS=all TS_CHECKSUM=sync
try many "$launches"
TS_KEEP=0.01 TS_LEVEL=3 TS_THREADS=2 try many "$launches"
