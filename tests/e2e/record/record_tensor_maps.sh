#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tensor maps are recorded with what they were made of; kernels get them by value. A replay makes them
# again, also where the recording's driver had other bytes in them.
. "$(dirname "$0")/../util.sh"
export TS_EMU_CC=9.0
same_output tensor_maps
grep -q '^0 of 512 words are wrong$' plain.out
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
tsview t.sbt | grep -q 'cuTensorMapEncodeTiled(.*boxDim=\[1000000008000000\]'
status 0 replay t.sbt
grep -q 'checksums equal' out
TS_EMU_NOOP=1 status 1 replay t.sbt

number() { # of the first record of that call
    tsview t.sbt | awk -v call=" $1[ (]" '$0 ~ call { print $1; exit }'
}
# other FROM TO ACTION CALL WORD
other() {
    "$TEST_PROGRAMS/alter_trace" "$1" "$2" "$3" "$(number "$4")" "$5:0x123456789abcdef"
}
# Word 1 of the first map, 17 of the second one: a map that no record makes is none here.
other t.sbt first.sbt argument cuLaunchKernel 1
status 2 replay first.sbt
other first.sbt first_known.sbt data cuTensorMapEncodeTiled 1
status 0 replay first_known.sbt
other t.sbt second.sbt argument cuLaunchKernel 17
status 2 replay second.sbt
other second.sbt second_known.sbt data cuTensorMapReplaceAddress 1
status 0 replay second_known.sbt
