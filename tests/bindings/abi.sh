#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The ABI of libtracesmith is the one that was promised, and a change of it would be seen.
. "$(dirname "$0")/../e2e/util.sh"
command -v abidiff >/dev/null || exit 77
abi=$TEST_SOURCE/scripts/abi
library=$TEST_BIN/../include/libtracesmith.so

status 0 "$abi" "$library"
# Baselines with a member elsewhere, with one more function, and without one that there is.
promised=$TEST_SOURCE/include/tracesmith.abi
sed "s/layout-offset-in-bits='224'/layout-offset-in-bits='256'/" "$promised" >moved.abi
cmp -s "$promised" moved.abi && fail "no struct has a member at byte 28"
status 1 "$abi" "$library" "$work/moved.abi"
sed "s/'sbt_reader_open'/'sbt_reader_open_once'/" "$promised" >removed.abi
status 1 "$abi" "$library" "$work/removed.abi"
grep -q 'sbt_reader_open_once' out || fail "$(cat out)"
sed "/<elf-symbol name='tsm_diff'/d" "$promised" >added.abi
status 1 "$abi" "$library" "$work/added.abi"
grep -q 'tsm_diff is not in the baseline' out || fail "$(cat out)"
