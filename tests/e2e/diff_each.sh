#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No change of what is compared in a recorded trace is called the same by tsdiff.
. "$(dirname "$0")/util.sh"

for program in saxpy copies two hostmem graphs functions pools threads; do
    TS_CHECKSUM=sync record $program.sbt $program >/dev/null
    "$TEST_REPLAY/diff_each" $program.sbt 150 >out || fail "$program: $(cat out)"
done
