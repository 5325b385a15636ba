#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ffmpeg's Vulkan filters: memory of the program that the driver imports, timeline semaphores. What
# comes out is what comes out without us, and the trace replays, twice the same.
. "$(dirname "$0")/vulkan_util.sh"
command -v ffmpeg >/dev/null || exit 77
filter() {
    ffmpeg -hide_banner -loglevel error -init_hw_device vulkan=vk:0 -filter_hw_device vk -f lavfi \
        -i testsrc2=size=160x120:rate=10:duration=0.3 \
        -vf format=yuv420p,hwupload,avgblur_vulkan=sizeX=5:sizeY=5,hwdownload,format=yuv420p \
        -f md5 -
}
filter >plain.out 2>plain.err || { cat plain.err; exit 77; } # an ffmpeg without Vulkan
for checksum in off submit; do
    TS_CHECKSUM=$checksum LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=$checksum.sbt filter >record.out
    cmp plain.out record.out || fail "recording changed the picture"
    all_equal 3 $checksum.sbt
done
status 0 tsreplay --check=1 submit.sbt
