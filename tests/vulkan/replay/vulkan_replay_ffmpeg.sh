#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ffmpeg's Vulkan filters: memory of the program that the driver imports, timeline semaphores. What
# comes out is what comes out without us; the trace replays, twice the same; and the pictures that the
# replay brings back have the MD5 that ffmpeg prints.
. "$(dirname "$0")/vulkan_util.sh"
command -v ffmpeg >/dev/null || exit 77
filter() {
    ffmpeg -hide_banner -loglevel error -init_hw_device vulkan=vk:0 -filter_hw_device vk -f lavfi \
        -i testsrc2=size=160x120:rate=10:duration=0.3 \
        -vf format=yuv420p,hwupload,avgblur_vulkan=sizeX=5:sizeY=5,hwdownload,format=yuv420p \
        -f "$1" -
}
filter md5 >plain.out 2>plain.err || { cat plain.err; exit 77; } # an ffmpeg without Vulkan
# Where ffmpeg fills the memory of a frame while another one is under way, replay cannot tell whose bytes those
# are. Which frames meet is chance: another recording has others.
for checksum in off submit; do
    for attempt in 1 2 3 4 5; do
        rm -f $checksum.sbt
        TS_CHECKSUM=$checksum LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=$checksum.sbt filter md5 >record.out
        cmp plain.out record.out || fail "recording changed the picture"
        [ $attempt = 5 ] || ! tsreplay $checksum.sbt 2>/dev/null | grep -q 'cannot tell: .* may have written' || continue
        break
    done
    all_equal 3 $checksum.sbt
done
status 0 tsreplay --check=1 submit.sbt
filter framemd5 | sed -n '/^[^#]/s/.*, *//p' >want.md5
cat plain.out >>want.md5
[ "$(wc -l <want.md5)" = 4 ] || fail "three frames and a sum: $(cat want.md5)"
python3 "$(dirname "$0")/frame_md5.py" off.sbt >got.md5
cmp want.md5 got.md5 || fail "ffmpeg's pictures: $(cat want.md5), the replay's: $(cat got.md5)"
