#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every way in which a program can learn that a kernel is done, followed by a write of the host into what
# the kernel has read: the replay waits as well, whatever the order, on a device that is late, too.
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
for way in $(plain hsa_learns "$kernels"); do
    plain hsa_learns "$kernels" $way >plain.out
    record t.sbt hsa_learns "$kernels" $way >record.out
    cmp plain.out record.out || fail "$way: recording changed the output"
    for option in --pace=fast --order=delayed:1 --order=permuted:1 --pace=stepped; do
        status 0 replay t.sbt --timeout 30 $option
        grep -q 'all 12 checksums equal' out || fail "$way: $option: $(cat out)"
    done
    status 0 env TS_EMU_LATE=5 tsreplay --device emu --timeout 30 t.sbt
    rm t.sbt
done
