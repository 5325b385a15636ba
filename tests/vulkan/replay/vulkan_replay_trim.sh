#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A part of a Vulkan trace as a trace of its own: smaller, well-formed, and it replays alone with the
# results of the whole, with what each round needs of the one before; also in an environment that has
# nothing of the first.
. "$(dirname "$0")/vulkan_util.sh"
validate=
[ ! -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || validate=--validate

# cut WHOLE RANGE: leaves part.sbt
cut() {
    rm -f part.sbt
    status 0 tracesmith trim --json --range "$2" -o part.sbt "$1"
    [ "$(field out bytes)" -lt "$(field out trace_bytes)" ] || fail "$1 $2: not smaller"
    status 0 tracesmith check part.sbt
}
# alone COUNT: part.sbt sends so many commands, and all is equal
alone() {
    status 0 env -i PATH="$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" \
        VK_ICD_FILENAMES="$VK_ICD_FILENAMES" HOME="$work" tsreplay --json part.sbt $validate
    [ "$(field out command_count)" = "$1" ] || fail "not $1 commands: $(cat out)"
    [ "$(field out difference_count)" = 0 ] || fail "differences: $(cat out)"
    [ "$(field out validation_count)" = 0 ] || fail "validation errors: $(cat err)"
}
record_vulkan t.sbt "$TEST_BUILD/vk_rounds" 40 >/dev/null
for range in submits:12:18 submits:5:30 submits:31:; do
    cut t.sbt $range
    own_results t.sbt --range $range >whole.results
    own_results part.sbt >part.results
    [ -s part.results ] || fail "$range: no results"
    cmp whole.results part.results || fail "$range: other results"
    case $range in *12:18) alone 6 ;; *5:30) alone 25 ;; *) alone 10 ;; esac
done
cut t.sbt 'label:round 22'
alone 1
cut t.sbt submits:1:6 # nothing is needed before it
alone 5

# A part of a part.
cut t.sbt submits:10:30
mv part.sbt first.sbt
cut first.sbt submits:3:5
alone 2

# A trace that has none gets a checkpoint.
status 0 tracesmith trim --whole --range submits:26: -o with.sbt t.sbt
all_equal 70 with.sbt
all_equal 4 with.sbt --range submits:27:29
[ "$(field out jumped_count)" = 25 ] || fail "not from the new checkpoint: $(cat out)"

# What is wrong before the range is not noticed in the part, what is wrong inside is.
status 2 tracesmith trim --range submits:100: -o part.sbt t.sbt
grep -q 'there are 40 submits' err || fail "$(cat err)"

for tool in vkcube Xvfb xvfb-run; do
    command -v $tool >/dev/null || exit 0
done
xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=cube.sbt \
    TS_CHECKSUM=submit vkcube --c 600 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
cut cube.sbt frames:100:110
alone 20 # ten submits, ten presents
[ "$(field out checksum_count)" = 10 ] || fail "not each submit was compared: $(cat out)"

command -v ffmpeg >/dev/null || exit 0
# Its pictures are in pages of the heap that it gives to the device: it may write beside them meanwhile.
for attempt in 1 2 3 4 5; do
    rm -f film.sbt
    TS_CHECKSUM=submit LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=film.sbt ffmpeg -hide_banner -loglevel error \
        -init_hw_device vulkan=vk:0 -filter_hw_device vk \
        -f lavfi -i testsrc2=size=160x120:rate=10:duration=2 \
        -vf format=yuv420p,hwupload,avgblur_vulkan=sizeX=5:sizeY=5,hwdownload,format=yuv420p \
        -f md5 - >/dev/null 2>film.err || exit 0
    [ $attempt = 5 ] || ! tsreplay film.sbt 2>/dev/null | grep -q 'cannot tell: .* may have written' || continue
    break
done
cut film.sbt submits:40:60
alone 20
[ "$(field out checksum_count)" -ge 20 ] || fail "too few comparisons: $(cat out)"
