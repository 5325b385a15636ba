#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kernels that spin on words which the program stores without a call that says so: the replay gives them
# what the program wrote when nothing moves any more, whatever the program did next and whatever else
# was recorded, and never takes a difference for one that it knows. The timeout only says how long a replay
# waits before it does so.
. "$(dirname "$0")/../util.sh"
patience="--timeout 10"
for way in plain command query event copy polled thread free ping_pong data managed registered last graph; do
    chosen 3 || continue
    same_output spins $way
    tracesmith check t.sbt >/dev/null
    expected=0
    [ $way = last ] && expected=3
    status $expected replay t.sbt $patience --json
    [ "$(field out early_count)" -ge 1 ] || fail "$way: nothing was early: $(cat out)"
done
for setting in TS_CHECKSUM=sync TS_CHECKSUM=command TS_CHECKPOINT=1; do
    for way in polled ping_pong; do
        chosen 3 || continue
        export "${setting?}"
        same_output spins $way
        export TS_CHECKSUM=off
        unset TS_CHECKPOINT
        status 0 replay t.sbt $patience
    done
done

# Several values of one word in turn: counted up, or else the address is named.
same_output spins handshake
status 0 replay t.sbt --timeout 60
TS_EMU_NOOP=1 status 1 replay t.sbt $patience
same_output spins toggle
status 2 replay t.sbt --timeout 2
grep -q 'it was given 0x[0-9a-f]*, where the program writes, too' err || fail "$(cat err)"

# A pointer that no argument names, in other orders, and a part.
same_output spins hidden 1
status 0 replay t.sbt --timeout 4
same_output spins command
for option in --order=permuted:2 --pace=stepped --loop=2 --streams=1; do
    status 0 replay t.sbt $patience $option
done
number() { # of the first record of that call
    tsview --json t.sbt | python3 -c 'import json, sys
for r in map(json.loads, sys.stdin):
    if r.get("call") == sys.argv[1]:
        print(r["seq"])' "$1"
}
status 3 replay t.sbt --once $patience --range "0:$(($(number cuStreamSynchronize | head -1) + 1))"

# Other values are never the same, and what may be due to the moment is not known (row C9).
"$TEST_PROGRAMS/alter_trace" t.sbt other.sbt slot "$(number cuMemsetD32_v2)" 1:5
status 2 replay other.sbt $patience
grep -q 'when it did not come to its end' out || fail "$(cat out)"
TS_EMU_NOOP=1 status 1 replay t.sbt $patience
same_output spins fresh 1
status 2 replay t.sbt --check=1 $patience
grep -q 'when a command saw what the program wrote' out || fail "$(cat out)"

# Without the stores it ends, and says so.
for seq in $(number host_write | sort -rn); do
    "$TEST_PROGRAMS/alter_trace" t.sbt less.sbt remove "$seq"
    mv less.sbt t.sbt
done
status 2 replay t.sbt --timeout 2
grep -q 'no progress for 2 s' err || fail "$(cat err)"
