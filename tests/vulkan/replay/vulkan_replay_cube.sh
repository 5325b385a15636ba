#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A window: 800 frames of vkcube are recorded, and drawn again without any window. Two replays draw the
# same, which the images that stand for the window's tell.
. "$(dirname "$0")/vulkan_util.sh"
for tool in vkcube Xvfb xvfb-run; do
    command -v $tool >/dev/null || exit 77
done
xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=cube.sbt \
    vkcube --c 800 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
unset DISPLAY
all_equal 1 cube.sbt # the program reads nothing back: what it leaves in memory is compared
[ "$(field out command_count)" -ge 1600 ] || fail "too few commands: $(cat out)"
# With a checksum of all memory after each submit there is something to compare.
xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=submit.sbt \
    TS_CHECKSUM=submit vkcube --c 30 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
all_equal 30 submit.sbt
status 0 tsreplay --json --check=1 --grain=sync --range=frames:1:200 cube.sbt
grep -q '"repeat"' out || fail "$(cat out)"
! grep -q '"different"' out || fail "two replays differ: $(cat out)"
