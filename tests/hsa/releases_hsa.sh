#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a program lets a command go on that was sent before: it reads in a replay what it read when it was
# recorded. A program that takes places with INVALID headers for free ones, or makes a packet ready after the
# doorbell has rung, runs as it does without recording.
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
for way in store silent add subtract and or xor exchange cas pointer late copy header room behind value; do
    chosen 4 || continue
    LD_LIBRARY_PATH=$TEST_EMU timeout 60 "$TEST_PROGRAMS/hsa_releases" "$kernels" $way >plain.out
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=t.sbt timeout 60 "$TEST_PROGRAMS/hsa_releases" "$kernels" $way >record.out ||
        fail "$way: recorded, it ends with $?"
    cmp plain.out record.out || fail "$way: recording changed the output"
    tsview t.sbt | grep taints && fail "$way: tainted"
    status 0 timeout 60 tsreplay --device emu t.sbt
    grep -q 'checksums equal' out || fail "$way: nothing was compared"
    # Late, what is written after the doorbell must not be there earlier than it was.
    status 0 env TS_EMU_LATE=2 timeout 60 tsreplay --device emu t.sbt
    for option in '--check' '--grain command' '--pace stepped'; do
        status 0 timeout 60 tsreplay --device emu --timeout 30 $option t.sbt
    done
    rm t.sbt
done

# A store that no call shows: a replay goes on without it after a while, and does not claim to know the result.
record t.sbt hsa_releases "$kernels" unseen >record.out
status 2 timeout 60 tsreplay --device emu --timeout 8 t.sbt
grep -q 'that nothing in the trace sets' out || fail "unseen: $(cat out err)"

# What the program wrote before such a store may be the work of a kernel that waited for it: that is said.
rm t.sbt
record t.sbt hsa_releases "$kernels" written >record.out
status 2 timeout 60 tsreplay --device emu t.sbt
grep -q 'bytes given back' out || fail "written: $(cat out err)"
