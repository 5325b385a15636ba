#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A part of a trace leaves out what images hold that it overwrites before it looks at them, and only that;
# its results, and what it presents, are those of the whole.
. "$(dirname "$0")/vulkan_util.sh"

# kept TRACE: of which memory the checkpoint has bytes
kept() {
    tsview --json "$1" | python3 -c '
import json, sys
records = [json.loads(line) for line in sys.stdin]
places = [int(r["args"]["address"], 16) for r in records if r.get("call") == "memory"]
print(*sorted({place >> 40 & 0x3fffff for place in places}))'
}

for sums in off submit; do
    TS_CHECKSUM=$sums record_vulkan t.sbt "$TEST_BUILD/vk_first_use" 33 >/dev/null
    rm -f part.sbt
    # Two buffers; overwritten are the images in 3 to 6.
    status 0 tracesmith trim --range submits:12:23 -o part.sbt t.sbt
    [ "$(kept part.sbt)" = "1 2 7 8 9 10 11 12 13" ] || fail "kept: $(kept part.sbt)"
    status 0 tracesmith check part.sbt
    all_equal 8 part.sbt
    rm t.sbt part.sbt
done

for tool in vkcube Xvfb xvfb-run; do
    command -v $tool >/dev/null || exit 0
done
xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=cube.sbt \
    TS_CHECKSUM=submit vkcube --c 30 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
status 0 tracesmith trim --json --range frames:10:20 -o part.sbt cube.sbt
[ "$(field out bytes)" -lt "$(field out trace_bytes)" ] || fail "not smaller: $(cat out)"
all_equal 10 part.sbt
status 0 tsreplay --screenshot=10-19:whole cube.sbt
status 0 tsreplay --screenshot=1-10:part part.sbt
for i in 1 2 5 10; do
    cmp "part/frame-$(printf %06d $i).png" "whole/frame-$(printf %06d $((i + 9))).png" ||
        fail "frame $i of the part is another one"
done
# Its last submit is left out: what is presented then is what was there.
status 0 tsview --json --range frames:10:20 cube.sbt
first=$(grep -m1 '"call":"vkQueueSubmit"' out | sed 's/.*"seq":\([0-9]*\).*/\1/')
rm part.sbt
status 0 tracesmith trim --range "$((first + 1)):$((first + 8))" -o part.sbt cube.sbt
status 0 tsreplay --screenshot=1:late part.sbt
cmp late/frame-000001.png whole/frame-000010.png || fail "what was drawn before the part is gone"
