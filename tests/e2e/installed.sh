#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `meson install` puts somewhere works there, and wherever it is moved to, with nothing set.
. "$(dirname "$0")/util.sh"
DESTDIR="$work/stage" meson install -C "$TEST_BIN/.." --no-rebuild --quiet >/dev/null
mv "$(dirname "$(find stage -name bin -type d)")" moved
rm -r stage
unset LD_LIBRARY_PATH
PATH=$work/moved/bin:/usr/bin:/bin
tsrecord --emu -o t.sbt -- "$TEST_PROGRAMS/saxpy" >/dev/null 2>err || fail "record: $(cat err)"
status 0 tsreplay t.sbt
grep -q 'checksums equal' out || fail "replay: $(cat out)"
library=$(dirname "$(find moved -name libtracesmith.so)")
LD_LIBRARY_PATH=$library "$TEST_PROGRAMS/use_library" t.sbt >out || fail "library: $(cat out)"
grep -q '^diff 0, replay 0, [1-9]' out || fail "library: $(cat out)"

# Its CUDA runtime library is found by each of its names.
tracesmith emu -- python3 -c 'import ctypes
for name in "libcudart.so", "libcudart.so.12", "libcudart.so.13":
    count = ctypes.c_int()
    assert ctypes.CDLL(name).cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1, name' || fail 'no cudart'

# Without the software GPU the message says what is missing and what to do.
rm -r "$library/tracesmith/emu"
status 2 tsreplay --device emu t.sbt
grep -q 'libcuda.so.1' err || fail "$(cat err)"
