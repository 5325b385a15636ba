#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that reads nothing back has its images compared, on a GPU, too: vkcube, on Debian's driver as it is, and
# looking like a GPU's.
. "$(dirname "$0")/vulkan_util.sh"
for tool in vkcube Xvfb xvfb-run glslangValidator; do
    command -v $tool >/dev/null || exit 77
done

# cube TRACE: 40 frames
cube() {
    xvfb-run -a -s '-screen 0 640x480x24' env LD_PRELOAD="$TEST_CAPTURE" TS_OUTPUT="$1" \
        vkcube --c 40 --present_mode 0 >cube.out 2>&1 || fail "$(cat cube.out)"
}

cat >red.frag <<'END'
#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec3 b;
layout(binding = 1) uniform sampler2D t;
layout(location = 0) out vec4 color;
void main() { color = texture(t, a.xy) + vec4(b * 0.5, 1); }
END
glslangValidator -V -o red.spv red.frag >/dev/null

for TS_TEST_DRIVER in '' discrete; do
    export TS_TEST_DRIVER
    export VK_ICD_FILENAMES="${TS_TEST_DRIVER:+$TEST_VULKAN/vk_driver.json}"
    [ "$VK_ICD_FILENAMES" ] || VK_ICD_FILENAMES=$driver
    cube cube.sbt
    # Frames 1, 2, 4, 8, 16, 32.
    [ "$(tsview cube.sbt | grep -c 'address=0xc.*size=1000000')" = 6 ] || fail "$(tsview cube.sbt | grep checksum)"
    all_equal 6 cube.sbt
    all_equal 2 cube.sbt --range frames:10:40
    all_equal 2 cube.sbt --range frames:10:40 --loop 2
    all_equal 6 cube.sbt --streams 0
    status 0 tracesmith trim --range frames:10:40 -o part.sbt cube.sbt
    all_equal 2 part.sbt
    status 0 tsreplay --check=2 --range frames:1:9 cube.sbt
    # Another layer finds nothing wrong in what we add.
    if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
        VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation cube validated.sbt
        ! grep -i 'validation error\|VUID' cube.out || fail "we do what is not allowed"
    fi
    # Only images tell, or what is in them.
    hash=$(tracesmith shaders cube.sbt | grep -B1 fragment | grep -o '^[0-9a-f]\{32\}')
    status 1 tsreplay --replace-shader="$hash=red.spv" cube.sbt
    grep -q 'VkImage of a swapchain' out || fail "$(cat out)"
    # The program's frames are what they are without it.
    status 0 tsreplay --screenshot=1,2,32:with cube.sbt
    TS_VK_RESULTS=0 cube off.sbt
    status 3 tsreplay off.sbt
    status 0 tsreplay --screenshot=1,2,32:without off.sbt
    diff -r with without || fail "looking changed the images"
    rm -r ./*.sbt with without
done
