#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tsreplay --replace-kernel: a kernel of another code object computes the same, or something else; one that does not fit
# the recorded packets is refused.
. "$(dirname "$0")/../e2e/util.sh"
for program in hsa_dispatch; do
    record t.sbt $program "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
    for options in "" "--loop=2" "--pace=stepped" "--trust-code" "--check=1"; do
        # shellcheck disable=SC2086
        status 0 replay t.sbt $options --replace-kernel=scale.kd="$TEST_PROGRAMS/replaced_same.hsaco"
        cat out err | grep -q '1 kernel ' || fail "it does not say so: $(cat out err)"
        # shellcheck disable=SC2086
        status 1 replay t.sbt $options --replace-kernel=scale="$TEST_PROGRAMS/replaced_other.hsaco"
    done
done
status 0 replay t.sbt --replace-kernel='sc?le.kd'="$TEST_PROGRAMS/replaced_same.hsaco:scale" --json
grep -q '"replaced_count":1' out || fail "$(cat out)"

refused() {
    status 2 replay t.sbt --replace-kernel="$1"
    grep -q "$2" err || fail "not \"$2\": $(cat err)"
}
refused "scale=$TEST_PROGRAMS/replaced_wide.hsaco" 'parameter 1 of scale.kd has 8 bytes at offset 8 (by_value), and that of the recorded kernel 4 at 8'
refused "scale=$TEST_PROGRAMS/replaced_group.hsaco" 'needs 64 bytes of group memory'
refused "scale=$TEST_PROGRAMS/replaced_variable.hsaco" 'has a variable "bias", and so has the recorded code'
refused "scale=$TEST_PROGRAMS/replaced_same.hsaco:other" 'has no kernel "other" whose parameters'
refused "add=$TEST_PROGRAMS/replaced_same.hsaco" 'scale.kd has 2 parameters'
refused "nothing=$TEST_PROGRAMS/replaced_same.hsaco" 'no kernel "nothing" is launched'
refused "scale=t.sbt" 't.sbt: is no code object of HSA'
head -c 700 "$TEST_PROGRAMS/replaced_same.hsaco" >cut.hsaco
refused "scale=cut.hsaco" 'cut.hsaco: '
