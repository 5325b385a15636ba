#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A replay that fails while a kernel spins, or while something waits for what nobody is going to do, ends: it
# waits for nothing without bound. The limit is far above what it takes.
. "$(dirname "$0")/../util.sh"
number() { # of the N-th record of that call
    tsview --json t.sbt | python3 -c 'import json, sys
seqs = [r["seq"] for r in map(json.loads, sys.stdin) if r.get("call") == sys.argv[1]]
print(seqs[int(sys.argv[2])])' "$1" "$2"
}
for way in plain polled command event; do
    same_output spins $way
    # A launch of so many blocks that no driver takes it, and the store that ends the spin is not there.
    for launch in 0 1; do
        for write in 1 2; do
            rm -f failing.sbt less.sbt
            "$TEST_PROGRAMS/alter_trace" t.sbt failing.sbt slot "$(number cuLaunchKernel $launch)" 1:1099511627776
            "$TEST_PROGRAMS/alter_trace" failing.sbt less.sbt remove "$(number host_write $write)"
            for option in --pace=fast --order=permuted:3 --order=delayed:1; do
                status 2 timeout 120 tsreplay --device emu --timeout 1 $option less.sbt
                [ -s err ] || fail "no word of the error"
            done
        done
    done
done
# The same where the failing command comes behind the kernel that spins.
same_output spins polled
rm -f failing.sbt less.sbt
"$TEST_PROGRAMS/alter_trace" t.sbt failing.sbt slot "$(number cuLaunchKernel 1)" 0:1099511627776
"$TEST_PROGRAMS/alter_trace" failing.sbt less.sbt remove "$(number host_write 2)"
for option in --pace=fast --order=permuted:1 --order=permuted:2 --order=permuted:3; do
    status 2 timeout 120 tsreplay --device emu --timeout 1 $option less.sbt
done
