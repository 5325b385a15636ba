#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that read through textures and write through surfaces: recorded without a taint, replayed
# with equal results, also where the driver of the replay chooses other handles.
. "$(dirname "$0")/../util.sh"
FIRST=0x7e00000000000000 # of the software GPU's handles

same_output texture
tracesmith check t.sbt
status 0 replay t.sbt --json
[ "$(field out checksum_count)" -ge 8 ] || fail "fewer than 8 readbacks: $(cat out)"
tsview t.sbt >view
grep -q 'cuTexObjectCreate(.*CU_RESOURCE_TYPE_PITCH2D.*width=64, height=32' view || fail "view: pitched"
grep -q 'cuTexObjectCreate(.*mipmap=mipmap#.*view_format=CU_RES_VIEW_FORMAT_SINT_1X8' view ||
    fail "view: mipmapped array with a view"
grep -q 'cuTexRefSetAddressMode(hTexRef=texref#1, dim=0, am=CU_TR_ADDRESS_MODE_WRAP)' view ||
    fail "view: reference"

# Five texture objects and the launches that got them; the other words are none of handles.
edited=$("$TEST_PROGRAMS/edit_words" t.sbt moved.sbt 4096 $FIRST 0x7e00000000010000)
[ "$edited" = 10 ] || fail "$edited handles, not 10"
status 0 replay moved.sbt

same_output surface
status 0 replay t.sbt
# Launches without translation would name objects that are not there.
"$TEST_PROGRAMS/edit_words" t.sbt other.sbt 4096 $FIRST 0x7e00000000010000 >/dev/null
status 0 replay other.sbt
# A stream with what it needs: the upload, on another stream, of the array behind its texture.
status 0 replay t.sbt --streams 2 --json
[ "$(field out checksum_count)" = 1 ] || fail "not the stream's readback: $(cat out)"
replay t.sbt --check=3 >out || fail "$(cat out)"

# What arrays hold is hashed too: with the image edited, the first difference is the array's.
export TS_CHECKSUM=command
record c.sbt surface >record.out
unset TS_CHECKSUM
cmp plain.out record.out || fail "checksums changed the output"
status 0 replay c.sbt --json
[ "$(field out checksum_count)" -ge 17 ] || fail "fewer than 17 checksums: $(cat out)"
"$TEST_PROGRAMS/edit_trace" c.sbt d.sbt cuMemcpy2DAsync_v2 1 77
status 1 replay d.sbt
grep -q 'number 1 on stream 1' out || fail "not the upload: $(cat out)"
grep -q 'buffer  *0x8000010000000000, 4096 bytes' out || fail "not the array: $(cat out)"

# Arrays of blocks, of packed texels and of planes: what they hold is compared, and kernels read it.
unset TS_CHECKSUM
same_output formats
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled' || fail "formats: not modelled"
status 0 replay t.sbt --json
[ "$(field out checksum_count)" = 13 ] || fail "formats: not 13 checksums: $(cat out)"
TS_EMU_NOOP=1 plain formats >noop.out
! cmp -s plain.out noop.out || fail "formats: the kernels did nothing, and nobody saw"
TS_CHECKSUM=command record c.sbt formats >record.out
cmp plain.out record.out || fail "formats: checksums changed the output"
status 0 replay c.sbt
"$TEST_PROGRAMS/edit_trace" c.sbt e.sbt cuMemcpy2DAsync_v2 1 77
status 1 replay e.sbt
grep -q 'buffer  *0x8000010000000000, 1024 bytes' out || fail "not the array of blocks: $(cat out)"
