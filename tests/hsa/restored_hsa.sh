#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the GPU has written to memory of the host is not there any more in a replay when the program has given back the
# bytes that were recorded there before.
. "$(dirname "$0")/../e2e/util.sh"
for setting in TS_READBACK=store TS_READBACK=off TS_VK_MEMORY=hash TS_CHECKSUM=sync; do
    export "${setting?}"
    same_output hsa_restored "$TEST_PROGRAMS/hsa_kernels.hsaco"
    unset "${setting%%=*}"
    expected=0
    [ $setting != TS_READBACK=off ] || expected=3
    status $expected timeout 60 tsreplay --device emu t.sbt
    rm t.sbt
done
