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

# Headers and library are enough to compile with, also for C++; pages are there under each function's name.
for compiler in "${CC:-cc} -std=c11" "g++ -x c++"; do
    $compiler -Wall -Wextra -Werror -fsyntax-only -I moved/include moved/include/tracesmith/tracesmith.h || fail "$compiler"
done
${CC:-cc} -Wall -Werror -I moved/include "$TEST_SOURCE/docs/guide/print_calls.c" -L"$library" -ltracesmith \
    -Wl,--allow-shlib-undefined -o print_calls || fail "compile"
LD_LIBRARY_PATH=$library ./print_calls t.sbt | grep -q cuLaunchKernel || fail "print_calls"
pages=$(dirname "$(find moved -name tracesmith.3)")
for name in tracesmith_reader sbt_reader_open tsm_commands_read; do
    grep -q '^\.TH TRACESMITH_' "$pages/$name.3" || fail "no page $name.3"
done

# Its CUDA runtime library is found by each of its names.
tracesmith emu -- python3 -c 'import ctypes
for name in "libcudart.so", "libcudart.so.12", "libcudart.so.13":
    count = ctypes.c_int()
    assert ctypes.CDLL(name).cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1, name' || fail 'no cudart'

# Without the software GPU the message says what is missing and what to do.
rm -r "$library/tracesmith/emu"
status 2 tsreplay --device emu t.sbt
grep -q 'libcuda.so.1' err || fail "$(cat err)"
