#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TS_CHECKSUM=sync hashes the GPU's memory whenever the program knows that the GPU is idle.
. "$(dirname "$0")/../e2e/util.sh"
TS_CHECKSUM=sync record t.sbt hsa_dispatch "$TEST_PROGRAMS/hsa_kernels.hsaco" >/dev/null
status 0 replay t.sbt
equal=$(sed -n 's/.*all \([0-9]*\) checksums equal.*/\1/p' out)
[ "${equal:-0}" -gt 100 ] || fail "only ${equal:-0} checksums"
