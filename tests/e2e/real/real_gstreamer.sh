#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's GStreamer converts and scales frames on the GPU, with kernels that it compiles by NVRTC:
# as its software elements do, but for how colours between two pixels are found. Recorded: the same
# frames; replayed: every download equal.
. "$(dirname "$0")/../util.sh"
find_toolkit
command -v gst-launch-1.0 >/dev/null && [ -e /usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstnvcodec.so ] &&
    [ -e "$toolkit/lib64/libnvrtc.so" ] || exit 77
cc -w -shared -fPIC "$TEST_SOURCE/tests/real/gstreamer_needs.c" -o libnvcuvid.so.1
export GST_CUDA_NVRTC_LIBNAME="$work/libnvcuvid.so.1" GST_REGISTRY="$work/registry" GST_REGISTRY_FORK=no

# pipeline OUT SOURCE_FORMAT ELEMENT...: five frames through elements; without padding between lines
pipeline() {
    out=$1
    format=$2
    shift 2
    gst-launch-1.0 -q videotestsrc num-buffers=5 pattern=smpte ! \
        "video/x-raw,format=$format,width=64,height=48,framerate=5/1,colorimetry=bt601" ! "$@" ! \
        videocrop top=2 ! filesink "location=$out"
}
# cuda OUT SOURCE_FORMAT ELEMENT FORMAT WIDTH HEIGHT
cuda() {
    LD_LIBRARY_PATH="$TEST_EMU:$toolkit/lib64:$work" pipeline "$1" "$2" cudaupload ! "$3" ! \
        "video/x-raw(memory:CUDAMemory),format=$4,width=$5,height=$6" ! cudadownload ! video/x-raw
}
# both LEAST_DB SOURCE_FORMAT ELEMENT TWIN FORMAT WIDTH HEIGHT: what can be asked of a recording
both() {
    least=$1
    twin=$4
    cuda gpu "$2" "$3" "$5" "$6" "$7"
    rm -f t.sbt
    (
        export LD_PRELOAD="$preload" TS_OUTPUT=t.sbt
        cuda recorded "$2" "$3" "$5" "$6" "$7"
    )
    cmp gpu recorded || fail "recording changes $3"
    tracesmith check t.sbt >/dev/null
    tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
    status 0 replay t.sbt --json
    [ "$(field out checksum_count)" -ge 5 ] || fail "fewer than 5 downloads of $3: $(cat out)"
    TS_EMU_NOOP=1 cuda noop "$2" "$3" "$5" "$6" "$7"
    ! cmp -s gpu noop || fail "$3: the kernels did nothing, and nobody saw"
    pipeline cpu "$2" $twin ! "video/x-raw,format=$5,width=$6,height=$7"
    near "$least" cpu gpu || fail "$3 to $5"
}
convert='videoconvert dither=none chroma-resampler=nearest'
both 999 I420 cudaconvert "$convert" NV12 64 48
both 40 I420 cudaconvert "$convert" BGRA 64 48
both 40 Y444 cudaconvert "$convert" RGB 64 48
both 50 NV12 cudaconvert "$convert" I420_10LE 64 48
both 30 I420 cudascale 'videoscale method=bilinear' I420 96 64
