#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Large writes to mapped memory, which a replay may carry out in parts: the device, which copies them, finds
# the bytes that it found. 64 MiB in two contents that take turns are stored twice at most. Small writes
# likewise; bytes that are not those of their key end the replay, with the record that wrote them.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan all.sbt "$TEST_VULKAN/vk_upload" 1 2 3 copy >/dev/null
all_equal 3 all.sbt
[ "$(stat -c %s all.sbt)" -lt 140000000 ] || fail "$(stat -c %s all.sbt) bytes"
record_vulkan tenth.sbt "$TEST_VULKAN/vk_upload" 10 50 3 copy >/dev/null
all_equal 3 tenth.sbt
python3 - tenth.sbt <<'EOF'
import struct, sys

with open(sys.argv[1], "r+b") as f:
    at, = struct.unpack_from("<I", f.read(64), 12)  # of the chunks (docs/FORMAT.md, sections 3 and 4)
    blobs = []
    while True:
        f.seek(at)
        header = f.read(96)
        if len(header) < 96:
            break
        kind, _, codec = struct.unpack_from("<HBB", header, 8)
        stored, = struct.unpack_from("<I", header, 32)
        if (kind, codec) == (9, 0):  # BLOBS as they are
            blobs.append(at + 96)
        at += 96 + stored
    at = blobs[len(blobs) // 2] + 2000  # in its first piece
    f.seek(at)
    byte = f.read(1)[0]
    f.seek(at)
    f.write(bytes([byte ^ 1]))
EOF
status 2 tsreplay tenth.sbt
grep -q 'what record [0-9]* wrote: .*the bytes of piece [0-9a-f]* do not match it' err ||
    fail "not what is damaged: $(cat err)"
