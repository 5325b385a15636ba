#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Images and samplers: pixels are compared, a part of a trace has the images that it needs, and kernels get
# the handles of the replay.
. "$(dirname "$0")/../e2e/util.sh"
TS_CHECKPOINT=2 record t.sbt hsa_pixels "$TEST_PROGRAMS/hsa_kernels.hsaco" >record.out
tsview t.sbt --json >view.json
grep -q '"call":"hsa_ext_image_create_with_layout"' view.json || fail "no image"
status 0 replay t.sbt --json
[ "$(field out checksum_count)" = 3 ] || fail "not 3 comparisons: $(cat out)"

# From before the kernel on.
dispatch=$(sed -n '/"call":"aql_kernel_dispatch"/s/.*"seq":\([0-9]*\).*/\1/p' view.json)
status 0 tracesmith trim --device emu --json --range $((dispatch - 1)): -o part.sbt t.sbt
status 0 tracesmith check part.sbt
status 0 replay part.sbt --json
[ "$(field out checksum_count)" = 1 ] || fail "the kernel's pixels were not compared: $(cat out)"
TS_EMU_NOOP=1 status 1 replay part.sbt
