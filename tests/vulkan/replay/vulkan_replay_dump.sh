#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --dump-resources: after a submit, and after single commands of primary and secondary command buffers.
. "$(dirname "$0")/vulkan_util.sh"
record_vulkan look.sbt "$TEST_BUILD/vk_look" >look.out

# seqs CALL: numbers of the records of a call
seqs() {
    tsview --json --calls="$1" look.sbt | sed -n 's/^{"seq":\([0-9]*\),.*/\1/p'
}
# words_are FILE A B: word i is A * i + B
words_are() {
    python3 - "$@" <<'END' || fail "wrong words in $*"
import struct, sys
words = struct.unpack("<1024I", open(sys.argv[1], "rb").read())
sys.exit(any(w != (int(sys.argv[2]) * i + int(sys.argv[3])) % 2**32 for i, w in enumerate(words)))
END
}
# dump SEQ: into ./dump
dump() {
    rm -rf dump
    status 0 tsreplay --dump-resources="$1:dump" look.sbt
    python3 -m json.tool dump/resources.json >/dev/null || fail "no JSON"
}

# After the first and the second submit.
set -- $(seqs 'vkQueueSubmit*')
dump "$1"
words_are dump/buffer-1.bin 81 207
grep -q '"name":"words"' dump/resources.json || fail "no name"
grep -q '"stage":"VK_SHADER_STAGE_COMPUTE_BIT"' dump/resources.json || fail "no stage"
grep -q '"push_constants":"03000000"' dump/resources.json || fail "no push constants"
ls dump/shader-*.spv >/dev/null
dump "$2"
words_are dump/buffer-1.bin 6561 16974

# After the images' submit: pictures, and what cannot be one as it is.
dump "$3"
pixel() {
    ffmpeg -loglevel error -i "dump/$1" -f rawvideo -pix_fmt "$2" - | head -c "$3" | od -An -tx1 | tr -d ' \n'
}
[ "$(pixel image-1-level0-layer0-color.png rgba 4)" = ff0000ff ] || fail "level 0"
[ "$(pixel image-1-level1-layer0-color.png rgba 4)" = 00ff0033 ] || fail "level 1"
[ "$(pixel image-2-level0-layer0-color.png rgba64be 8)" = 8000ffff0000ffff ] || fail "half floats"
[ "$(od -An -tx2 -N8 dump/image-2-level0-layer0-color.bin | tr -d ' ')" = 38004000bc003c00 ] || fail "raw halves"
[ "$(od -An -tu1 -N1 dump/image-3-level1-layer0-color.bin | tr -d ' ')" = 9 ] || fail "numbers"
[ "$(pixel image-4-level0-layer0-depth.png gray16be 2)" = 4000 ] || fail "depth"
[ "$(stat -c %s dump/image-4-level1-layer0-depth.bin)" = 128 ] || fail "size of a level"
grep -q '"why":"no picture can be made of its format' dump/resources.json || fail "no reason"
grep -q '"name":"picture"' dump/resources.json || fail "no name of an image"
grep -q '"layout":"VK_IMAGE_LAYOUT_GENERAL"' dump/resources.json || fail "no layout"

# After single commands: two of the secondary command buffer, then two of the primary one.
set -- $(seqs vkCmdDispatch)
dump "$1" && words_are dump/buffer-1.bin 9 22
dump "$2" && words_are dump/buffer-1.bin 27 68
dump "$3" && words_are dump/buffer-1.bin 3 7
grep -q '"push_constants":"07000000"' dump/resources.json || fail "what is bound"
dump "$4" && words_are dump/buffer-1.bin 81 207
# Before anything: what the program wrote.
dump "$(seqs vkCmdBeginDebugUtilsLabelEXT | head -1)"
[ ! -e dump/buffer-1.bin ] || fail "a label uses no buffer"
# In the other way of naming the folder; and what cannot be.
status 0 tsreplay --dump-resources "$3" other look.sbt
words_are other/buffer-1.bin 3 7
status 2 tsreplay --dump-resources=0 look.sbt
grep -q 'neither a submit nor a command' err || fail "$(cat err)"
status 2 tsreplay --dump-resources=99999 look.sbt
grep -q 'there is none' err || fail "$(cat err)"
# What is not replayed cannot be looked at; nor can many runs at a time.
status 2 tsreplay --range=0:10 --dump-resources="$2:none" look.sbt
grep -q 'was not replayed' err || fail "$(cat err)"
status 2 tsreplay --check --dump-resources="$2:none" look.sbt
# A secondary command buffer that is cut off between two barriers, and those of one that comes behind.
record_vulkan within.sbt "$TEST_BUILD/vk_look" within >within.out
mv look.sbt first.sbt
mv within.sbt look.sbt
first=$(seqs vkCmdClearColorImage | tail -2 | head -1) # of level 0
dump "$first"
[ "$(grep -o '"layout":"[A-Z_]*"' dump/resources.json | sort -u)" = '"layout":"VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL"' ] ||
    fail "layouts at the cut: $(grep -o '"layout":"[^"]*"' dump/resources.json)"
[ "$(pixel "$(basename dump/image-*-level0-layer0-color.png)" rgba 4)" = ff0000ff ] || fail "within: level 0"
rm -rf valid
status 0 tsreplay --validate --json --dump-resources="$first:valid" look.sbt
[ "$(field out validation_count)" = 0 ] || fail "$(cat err)"
mv first.sbt look.sbt
# From a checkpoint, without what comes before it.
TS_CHECKPOINT=1 record_vulkan points.sbt "$TEST_BUILD/vk_look" >points.out
mv points.sbt look.sbt
last=$(seqs vkQueueSubmit2KHR)
rm -rf dump
status 0 tsreplay --json --range="$last:" --dump-resources="$last:dump" look.sbt
[ "$(field out jumped_count)" -ge 1 ] || fail "from the beginning: $(cat out)"
words_are dump/buffer-1.bin 6561 16974
set -- $(seqs vkCmdDispatch)
rm -rf dump
# Its command buffer was submitted before the checkpoint, too: the first submit counts.
status 0 tsreplay --dump-resources="$2:dump" look.sbt
words_are dump/buffer-1.bin 27 68
# The driver is told nothing wrong by it.
status 0 tsreplay --validate --json --dump-resources="$2:valid2" look.sbt
[ "$(field out validation_count)" = 0 ] || fail "$(cat err)"
