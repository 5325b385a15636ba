#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An address in an argument is translated where it cannot be had; one in a struct is left, and then a
# replay does not claim that it is the same.
. "$(dirname "$0")/../e2e/util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
same_output hsa_held "$TEST_PROGRAMS/hsa_kernels.hsaco"
read -r out beside <plain.out
status 0 replay --json t.sbt
[ "$(field out untranslated_count)" = 0 ] || fail "all is in its place: $(cat out)"

occupied() {
    address=$1
    shift
    env TEST_OCCUPIED="$address" LD_PRELOAD="$TEST_PROGRAMS/occupy.so" tsreplay --device emu "$@" t.sbt
}
status 0 occupied "$out" --json
[ "$(field out translated_count)" -ge 1 ] || fail "not in the way: $(cat out)"
[ "$(field out untranslated_count)" = 0 ] || fail "an argument that is known: $(cat out)"

# The address that is left leads the kernel to what is not the GPU's: a fault, in the sandbox.
status 2 occupied "$beside"
grep -q "hold.kd: a memory fault .* address 0x" err || fail "no fault: $(cat out err)"
status 2 occupied "$beside" --json --trust-code
[ "$(field out untranslated_count)" = 1 ] || fail "not counted: $(cat out)"
[ "$(field out difference_count)" = 0 ] || fail "what was read back is right: $(cat out)"
grep -q 'left as recorded: byte 16 of those of hold' out || fail "which? $(cat out)"
