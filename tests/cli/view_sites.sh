# SPDX-License-Identifier: Apache-2.0
# Frames of a program without symbols have their call instruction, which is the one that objdump finds there. A file
# that is another one by now has none.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
command -v strip >/dev/null && command -v objdump >/dev/null && [ "$(uname -m)" = x86_64 ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
strip -o bare "$BUILD/tests/programs/saxpy"
tsrecord -q --emu -o t.sbt ./bare >/dev/null
sites() { tsview --stacks t.sbt | grep -o 'bare+0x[0-9a-f]*.*' | sort -u; }
sites | grep -q ': call' || { # a build or a machine without Capstone
    sites | grep -q ':' && exit 1
    rm -f bare t.sbt
    exit 77
}
objdump -d --no-show-raw-insn bare | sed -n 's/^ *\([0-9a-f]*\):[ \t]*\([a-z]*\).*/\1 \2/p' >instructions
sites | sed -n 's/^bare+0x\([0-9a-f]*\): \(call\) .*/\1 \2/p' | while read -r after what; do
    grep -B1 "^$after " instructions | grep -q " $what" && echo agrees || echo "$after: $what?"
done | sort -u
sites | grep -v ': call' | sed 's/0x[0-9a-f]*/0x?/'
tsview --stacks --json t.sbt | grep -c '"bare+0x[0-9a-f]*: call' | sed 's/[1-9][0-9]*/some/'
echo "another file:"
strip -o bare "$BUILD/tests/programs/copies"
sites | grep -c ':'
rm -f bare t.sbt instructions
