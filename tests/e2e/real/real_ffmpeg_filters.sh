#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's ffmpeg runs its CUDA filters, which read frames through textures. Each gives what its
# software twin gives: the same bytes, or as near as the two algorithms are. Recorded: the same bytes
# again; replayed: every download equal.
. "$(dirname "$0")/../util.sh"
command -v ffmpeg >/dev/null || exit 77
SOURCE=testsrc2=size=64x48:rate=5:duration=1,format=yuv420p
SMOOTH=$SOURCE,gblur=sigma=1.5

# software SOURCE FILTER: frames of a filter of the CPU
software() {
    ffmpeg -v error -f lavfi -i "$1" -vf "$2" -f rawvideo - </dev/null
}
# cuda SOURCE FILTER FORMAT [COMMAND...]: of a filter of the GPU; COMMAND runs ffmpeg
cuda() {
    source=$1
    filter=$2
    format=$3
    shift 3
    "$@" ffmpeg -v error -init_hw_device cuda=cu:0 -filter_hw_device cu -f lavfi -i "$source" \
        -vf "hwupload_cuda,$filter,hwdownload,format=$format" -f rawvideo - </dev/null
}
# both SOURCE FILTER FORMAT: leaves its frames in ./gpu, after all that can be asked of a recording, and
# without its kernels there are others
both() {
    cuda "$1" "$2" "$3" tracesmith emu -- >gpu
    rm -f t.sbt
    cuda "$1" "$2" "$3" tsrecord --emu -o t.sbt -- >recorded
    cmp gpu recorded || fail "recording changes $2"
    tracesmith check t.sbt >/dev/null
    status 0 replay t.sbt --json
    [ "$(field out checksum_count)" -ge 5 ] || fail "fewer than 5 downloads of $2: $(cat out)"
    cuda "$1" "$2" "$3" env TS_EMU_NOOP=1 tracesmith emu -- >noop
    ! cmp -s gpu noop || fail "$2: the kernels did nothing, and nobody saw"
}

both "$SOURCE" scale_cuda=32:24:interp_algo=nearest yuv420p
software "$SOURCE" scale=32:24:flags=neighbor >cpu
cmp cpu gpu || fail "scale_cuda, nearest"

# Half the size: the mean of four pixels.
both "$SOURCE" scale_cuda=32:24:interp_algo=bilinear yuv420p
software "$SOURCE" scale=32:24:flags=area+accurate_rnd >cpu
cmp cpu gpu || fail "scale_cuda, bilinear, half"

# Twice the size: weights of quarters, by the texture unit.
both "$SOURCE" scale_cuda=128:96:interp_algo=bilinear yuv420p
software "$SOURCE" scale=128:96:flags=bilinear+accurate_rnd >cpu
cmp cpu gpu || fail "scale_cuda, bilinear, twice"

# The filter cuts where the CPU's rounds: half a step between the two, 51 dB.
both "$SMOOTH" scale_cuda=96:72:interp_algo=bicubic:param=0.6 yuv420p
software "$SMOOTH" scale=96:72:flags=bicubic+accurate_rnd >cpu
near 50 cpu gpu || fail "scale_cuda, bicubic"
both "$SMOOTH" scale_cuda=96:72:interp_algo=lanczos yuv420p
software "$SMOOTH" scale=96:72:flags=lanczos+accurate_rnd:param0=2 >cpu
near 50 cpu gpu || fail "scale_cuda, lanczos"

both "$SOURCE" yadif_cuda yuv420p
software "$SOURCE" yadif >cpu
near 48 cpu gpu || fail "yadif_cuda"

# chromakey_cuda of this version samples between four pixels: their mean, cut. A key that nothing has
# leaves everything opaque.
both "$SOURCE" chromakey_cuda=0xff00ff:0.01:0 yuva420p
software "$SOURCE" null >cpu
python3 - cpu gpu <<'P' || fail "chromakey_cuda"
import sys
source, got = (open(name, 'rb').read() for name in sys.argv[1:])
planes = ((64, 48), (32, 24), (32, 24))
at, out = 0, 0
for frame in range(5):
    for width, height in planes:
        p = source[at:at + width * height]
        for y in range(height):
            for x in range(width):
                low_x, low_y = max(x - 1, 0), max(y - 1, 0)
                mean = (p[low_y * width + low_x] + p[low_y * width + x]
                        + p[y * width + low_x] + p[y * width + x]) // 4
                assert got[out + y * width + x] == mean, (frame, width, x, y)
        at, out = at + width * height, out + width * height
    assert set(got[out:out + 64 * 48]) == {255}, frame
    out += 64 * 48
assert out == len(got)
P

overlay() {
    "$@" -f lavfi -i "$SOURCE" -f lavfi -i testsrc=size=16x16:rate=5:duration=1,format=yuv420p \
        -filter_complex "$GRAPH" -f rawvideo - </dev/null
}
# One device for both: each hwupload_cuda opens its own, and nothing orders its uploads before the
# overlay on the other one's stream.
GRAPH='[0]hwupload[a];[1]hwupload[b];[a][b]overlay_cuda=8:8,hwdownload,format=yuv420p'
rm -f t.sbt
overlay tsrecord --emu -o t.sbt -- \
    ffmpeg -v error -init_hw_device cuda=cu:0 -filter_hw_device cu >gpu
GRAPH='[0][1]overlay=8:8:format=yuv420'
overlay ffmpeg -v error >cpu
cmp cpu gpu || fail "overlay_cuda"
status 0 replay t.sbt
GRAPH='[0]hwupload[a];[1]hwupload[b];[a][b]overlay_cuda=8:8,hwdownload,format=yuv420p'
overlay env TS_EMU_NOOP=1 tracesmith emu -- \
    ffmpeg -v error -init_hw_device cuda=cu:0 -filter_hw_device cu >gpu
! cmp -s cpu gpu || fail "overlay_cuda: the kernels did nothing, and nobody saw"
