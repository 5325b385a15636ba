#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --present: what is on the screen is what --screenshot writes, and what the program itself showed.
. "$(dirname "$0")/vulkan_util.sh"
for tool in vkcube Xvfb ffmpeg; do
    command -v $tool >/dev/null || exit 77
done
ffmpeg -loglevel quiet -devices | grep -q x11grab || exit 77

# A display of our own: Xvfb says which one was free. Without -noreset it takes no connection for a moment when
# the last one was closed.
Xvfb -noreset -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>display 2>/dev/null &
server=$!
end() {
    status=$?
    kill $server 2>/dev/null || true
    (exit $status)
    finish
}
trap end EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do
    [ ! -s display ] || break
    sleep 0.5
done
DISPLAY=:$(cat display)
export DISPLAY

# The corner of the screen where a window lies that nobody moves.
grab() {
    ffmpeg -loglevel error -y -f x11grab -draw_mouse 0 -video_size 500x480 -i "$DISPLAY" -frames:v 1 \
        -f rawvideo -pix_fmt rgb24 "$1"
}
cropped() {
    ffmpeg -loglevel error -y -i "$1" -vf crop=500:480:0:0 -f rawvideo -pix_fmt rgb24 "$2"
}

LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=cube.sbt vkcube --c 20 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
status 0 tsreplay --screenshot=20:. cube.sbt
cropped frame-000020.png wanted
grab before
! cmp -s before wanted || fail "the screen shows it already"
tsreplay --json --present=60 cube.sbt >out 2>err &
replay=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sleep 0.5
    kill -0 $replay 2>/dev/null || fail "it ended: $(cat err)"
    grab shown
    ! cmp -s shown wanted || break
done
cmp shown wanted || fail "another picture is on the screen"
kill $replay
wait $replay || true

# It does not change what is computed, and the driver is told nothing wrong.
LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=submit.sbt TS_CHECKSUM=submit vkcube --c 5 --present_mode 0 >cube.out 2>&1 ||
    fail "$(cat cube.out)"
all_equal 5 submit.sbt --present --validate
[ "$(field out validation_count)" = 0 ] || fail "$(cat err)"
# Where nothing is compared, that is what it did. Without a screen it is refused, with the reason.
LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=cube.sbt TS_VK_RESULTS=0 vkcube --c 20 --present_mode 0 >cube.out 2>&1 ||
    fail "$(cat cube.out)"
status 0 tsreplay --present cube.sbt
grep -q ', shown what was presented' out || fail "$(cat out)"
DISPLAY=:77777 status 2 tsreplay --present cube.sbt
grep -q 'no X server' err || fail "$(cat err)"
