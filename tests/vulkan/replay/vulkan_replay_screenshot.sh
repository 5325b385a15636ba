#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --screenshot: pictures of frames of vkcube; --dump-resources in the middle of a render pass; and
# another fragment shader for it.
. "$(dirname "$0")/vulkan_util.sh"
for tool in vkcube xvfb-run ffmpeg glslangValidator; do
    command -v $tool >/dev/null || exit 77
done
xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT=cube.sbt \
    vkcube --c 20 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
unset DISPLAY
# pixel FILE X Y
pixel() {
    ffmpeg -loglevel quiet -i "$1" -f rawvideo -pix_fmt rgb24 - |
        tail -c +$((($3 * 500 + $2) * 3 + 1)) | head -c 3 | od -An -tx1 | tr -d ' \n'
}
status 0 tsreplay --json --screenshot=1,19-20:shots cube.sbt
[ "$(ls shots | tr '\n' ' ')" = "frame-000001.png frame-000019.png frame-000020.png " ] || fail "$(ls shots)"
[ "$(field out look_count)" = 3 ] || fail "$(cat out)"
[ "$(pixel shots/frame-000001.png 2 2)" = 333333 ] || fail "no background"
[ "$(pixel shots/frame-000001.png 250 250)" != 333333 ] || fail "no cube"
! cmp -s shots/frame-000001.png shots/frame-000020.png || fail "the cube does not turn"
# The same again gives the same.
status 0 tsreplay --screenshot=20:again cube.sbt
cmp shots/frame-000020.png again/frame-000020.png
status 2 tsreplay --screenshot=21:none cube.sbt
grep -q 'no frame 21: 20 were presented' err || fail "$(cat err)"
status 2 tsreplay --screenshot=0 cube.sbt
# In the middle of the pass, behind the draw, and before it: the picture is the cleared one.
draw=$(tsview --json --calls=vkCmdDraw cube.sbt | sed -n 's/^{"seq":\([0-9]*\),.*/\1/p' | head -1)
status 0 tsreplay --json --validate --dump-resources="$draw:draw" cube.sbt
[ "$(field out validation_count)" = 0 ] || fail "$(cat err)"
[ "$(pixel draw/image-1-level0-layer0-color.png 250 250)" != 333333 ] || fail "nothing drawn"
status 0 tsreplay --dump-resources="$((draw - 1)):before" cube.sbt
[ "$(pixel before/image-1-level0-layer0-color.png 250 250)" = 333333 ] || fail "drawn too early"
ls draw/image-*-depth.png >/dev/null

# Red instead of a cube.
cat >red.frag <<'END'
#version 450
layout(location = 0) out vec4 colour;
void main() { colour = vec4(1, 0, 0, 1); }
END
glslangValidator -V -o red.spv red.frag >/dev/null
hash=$(tracesmith shaders --json cube.sbt | python3 -c '
import json, sys
print(next(s["hash"] for s in json.load(sys.stdin)["shaders"] if s["entry_points"][0]["stage"] == "fragment"))')
# The frames that were hashed differ.
status 1 tsreplay --replace-shader="$hash=red.spv" --screenshot=20:red cube.sbt
[ "$(pixel red/frame-000020.png 250 250)" = ff0000 ] || fail "the shader was not replaced"
[ "$(pixel red/frame-000020.png 2 2)" = 333333 ] || fail "too much is red"

# A device that wants other offsets than the program was told: said before anything runs.
VK_ICD_FILENAMES=$TEST_VULKAN/vk_driver.json TS_TEST_DRIVER=aligned status 0 tsreplay --screenshot=1:aligned cube.sbt
grep -q 'uniform buffers must be multiples of 4096 here, where the program was told 16' err || fail "$(cat err)"
