#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tracesmith shaders: list, write out, disassemble; tsreplay --replace-shader puts them back.
. "$(dirname "$0")/vulkan_util.sh"
command -v glslangValidator >/dev/null || exit 77
record_mode plain
status 0 tracesmith shaders plain.sbt
grep -q 'main (compute, local size 64 x 1 x 1)' out || fail "$(cat out)"
grep -q 'set 0 binding 0  storage_buffer Words' out || fail "$(cat out)"
grep -q 'push constants  4 bytes' out || fail "$(cat out)"
hash=$(head -1 out | cut -d' ' -f1)
[ ${#hash} = 32 ] || fail "no hash: $hash"
status 0 tracesmith shaders --json plain.sbt
grep -q "\"hash\":\"$hash\"" out || fail "$(cat out)"
grep -q '"local_size":\[64,1,1\]' out || fail "$(cat out)"
status 0 tracesmith shaders -o dir plain.sbt
glslangValidator -V -o triple.spv "$TEST_SOURCE/tests/vulkan/vk_triple.comp" >/dev/null
cmp triple.spv "dir/$hash.spv"
status 1 tracesmith shaders --only=ffffffffff plain.sbt

# With a disassembler, and without one.
if command -v spirv-dis >/dev/null; then
    status 0 tracesmith shaders --disassemble plain.sbt
    grep -q 'OpEntryPoint GLCompute' out || fail "$(cat out)"
    status 0 tracesmith shaders --disassemble -o dir plain.sbt
    grep -q 'OpEntryPoint GLCompute' "dir/$hash.spvasm"
fi
tool=$(command -v tracesmith)
PATH=/nowhere status 2 "$tool" shaders --disassemble plain.sbt
grep -q 'no spirv-dis' err || fail "$(cat err)"

# The same shader changes nothing; another one does; what is none is refused.
all_equal 4 plain.sbt --replace-shader="$(echo "$hash" | head -c 12)=triple.spv"
sed 's/\* 3/* 5/' "$TEST_SOURCE/tests/vulkan/vk_triple.comp" >other.comp
! cmp -s other.comp "$TEST_SOURCE/tests/vulkan/vk_triple.comp" || fail "nothing was changed"
glslangValidator -V -o other.spv other.comp >/dev/null
status 1 tsreplay --replace-shader="$hash=other.spv" plain.sbt
# Who looks at what comes of it sees that, whatever differed before.
last=$(tsview plain.sbt | grep ' vkQueueSubmit(' | tail -n 1 | awk '{print $1}')
status 1 tsreplay --replace-shader="$hash=other.spv" --dump-resources="$last:looked" plain.sbt
[ -f looked/resources.json ] || fail "it ended at the first difference: $(cat out err)"
status 2 tsreplay --replace-shader=0123456789=triple.spv plain.sbt
grep -q 'no shader with hash 0123456789' err || fail "$(cat err)"
status 2 tsreplay --replace-shader="$hash=other.comp" plain.sbt
grep -q 'no SPIR-V' err || fail "$(cat err)"
status 2 tsreplay --replace-shader=12=triple.spv plain.sbt

# Another interface: said, since drivers do not check. Another entry point: refused.
sed 's/uint added;/& uint more[8];/' "$TEST_SOURCE/tests/vulkan/vk_triple.comp" >wide.comp
glslangValidator -V -o wide.spv wide.comp >/dev/null
all_equal 4 plain.sbt --replace-shader="$hash=wide.spv"
grep -q 'wide.spv: uses 36 bytes of push constants, .* replaces 4' err || fail "$(cat err)"
printf '#version 450\nlayout(location = 0) out vec4 o;\nvoid main() { o = vec4(1); }\n' >red.frag
glslangValidator -V -o red.spv red.frag >/dev/null
status 2 tsreplay --replace-shader="$hash=red.spv" plain.sbt
grep -q 'red.spv: has no entry point "main" (compute)' err || fail "$(cat err)"
