#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's ffmpeg uploads frames to the GPU and downloads them again: same frames when recorded, and
# each download is equal in the replay.
. "$(dirname "$0")/../util.sh"
command -v ffmpeg >/dev/null || exit 77
frames() {
    ffmpeg -v error -init_hw_device cuda=cu:0 -filter_hw_device cu -f lavfi \
        -i testsrc2=size=64x48:rate=5:duration=2,format=nv12 \
        -vf hwupload_cuda,hwdownload,format=nv12 -f rawvideo - </dev/null
}
export LD_LIBRARY_PATH="$TEST_EMU"
frames >plain
(
    export LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=t.sbt
    frames >recorded
)
unset LD_LIBRARY_PATH
cmp plain recorded
tracesmith check t.sbt
status 0 replay t.sbt --json
[ "$(field out checksum_count)" -ge 10 ] || fail "fewer than 10 downloads: $(cat out)"

# The same with checkpoints between the frames: same frames, and a range from one of them.
export LD_LIBRARY_PATH="$TEST_EMU"
(
    export LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=c.sbt TS_CHECKPOINT=6
    frames >recorded
)
unset LD_LIBRARY_PATH
cmp plain recorded
tracesmith check c.sbt
last=$(tsview c.sbt | awk '/checkpoint_end/ { seq = $1 } END { print seq + 1 }')
[ "$last" -gt 1 ] || fail "there was no checkpoint"
middle=$(tsview c.sbt | awk '/checkpoint_end\(number=2,/ { print $1 + 1 }')
status 0 replay c.sbt --range "$middle:$last" --json
[ "$(field out checkpoint)" = 2 ] || fail "not from the second checkpoint: $(cat out)"
status 0 replay c.sbt --range "$middle:$last" --from-checkpoint=none
