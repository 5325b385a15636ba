#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --check finds each seeded mistake and names the command; the correct twin is always the same.
. "$(dirname "$0")/util.sh"
for mistake in atomic wait aside uninit copied; do
    record "$mistake.sbt" wrong "$mistake" >/dev/null
    status 1 replay "$mistake.sbt" --check=5
    grep -q 'seq\|command' out || fail "$mistake: the command is not named: $(cat out)"
    record "$mistake-fixed.sbt" wrong "$mistake" fixed >/dev/null
    status 0 replay "$mistake-fixed.sbt" --check=5
done
