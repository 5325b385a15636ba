#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# llama.cpp's Vulkan backend, as npm brings it, on a small model that is made here: weights mapped from
# the file, and read(2) into mapped memory. Recording does not change what it computes, to the bit, and
# in replay memory is after each submit what it was.
#
# The package is kept in TS_TEST_CACHE (~/.cache/tracesmith-tests), with what Mesa keeps of shaders.
. "$(dirname "$0")/vulkan_util.sh"
command -v node >/dev/null && command -v npm >/dev/null || exit 77
cache=${TS_TEST_CACHE:-${HOME:-/root}/.cache/tracesmith-tests}/llama
if [ ! -d "$cache/node_modules/@node-llama-cpp/linux-x64-vulkan" ]; then
    mkdir -p "$cache"
    echo '{"private": true}' >"$cache/package.json"
    (cd "$cache" && npm install --ignore-scripts --no-audit --no-fund --no-optional \
        node-llama-cpp@3.22 @node-llama-cpp/linux-x64-vulkan) >npm.out 2>&1 || exit 77
fi
export MESA_SHADER_CACHE_DIR="$cache/shaders" GGML_VK_VISIBLE_DEVICES=0
python3 "$TEST_SOURCE/tests/real/llama_model.py" model.gguf

run() {
    node "$TEST_SOURCE/tests/real/llama_run.mjs" "$cache" model.gguf "$@"
}

run mmap 4 >plain.out 2>plain.err || exit 77 # another processor, another C library
[ "$(wc -l <plain.out)" = 4 ] || fail "$(cat plain.out)"
for how in mmap read; do
    for checksum in off submit; do
        LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=$how.%p.sbt TS_CHECKSUM=$checksum run $how 4 >record.out
        cmp plain.out record.out || fail "recording changed the probabilities: $how, $checksum"
        trace=$(ls -S $how.*.sbt | head -n 1) # others are of its children, which only ask for devices
        all_equal 5 "$trace"
        rm -f $how.*.sbt
    done
    # Memory after each submit was compared.
    [ "$(field out checksum_count)" -ge "$(field out command_count)" ] || fail "$(cat out)"
done
