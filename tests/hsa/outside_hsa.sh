#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A copy of more bytes than there is memory of the recording is refused, on either side: it neither
# crashes the replay nor writes beside its memory.
. "$(dirname "$0")/../e2e/util.sh"
for how in to from async_to async_from box_to box_from fill; do
    record t.sbt hsa_outside $how >/dev/null
    got=0
    replay t.sbt >out 2>err || got=$?
    [ $got = 2 ] || [ $got = 3 ] || fail "$how: exit status $got: $(cat out err)"
    grep -q 'fewer\|never made\|of this trace' out err || fail "$how: no reason: $(cat out err)"
    rm t.sbt
done
