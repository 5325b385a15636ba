#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Native code of a trace runs in a sandbox: whatever it tries, it computes or fails, and tsreplay goes
# on to say so. In the recording the same code behaves (TEST_RECORDING).
. "$(dirname "$0")/../e2e/util.sh"

hostile() {
    rm -f t.sbt hostile.made
    TEST_RECORDING=1 record t.sbt hsa_hostile "$TEST_PROGRAMS/$@" >record.out
    [ "$(cat record.out)" = 1 ] || fail "the recording: $(cat record.out)"
}

# refused REASON: the replay fails and says that
refused() {
    status 2 replay --timeout 20 t.sbt
    grep -q "$1" err || fail "no \"$1\": $(cat out err)"
    [ ! -e hostile.made ] || fail "it was done"
}

hostile hostile_kernels.hsaco
status 0 replay t.sbt
grep -q 'all 1 checksums equal' out || fail "nothing was compared: $(cat out)"
status 0 replay --trust-code t.sbt

# System calls: to make a file, connect, run a program, kill, read a file, fork.
for deed in FILE CONNECT EXEC KILL READ_FILE FORK; do
    hostile "hostile_$deed.hsaco"
    refused 'loading a code object: it made system call [0-9]*, which the sandbox refuses'
done
# ... by a kernel; also to cut the shared files, to become dumpable, to be traced, to map another file.
for deed in 1 2 3 4 5 6 7 8 9 10; do
    hostile hostile_kernels.hsaco $deed
    refused 'attack.kd: it made system call [0-9]*, which the sandbox refuses'
done

# Memory: the null page, the kernel's half, a page that only the replaying process has (without
# randomisation its program begins there), no memory at all; what it may use of its own.
for address in 0 0xffffffff80000000 0x555555554000 0x8000000000000000; do
    for deed in 11 12; do
        hostile hostile_kernels.hsaco $deed $address
        status 2 setarch "$(uname -m)" -R tsreplay --device emu t.sbt
        grep -q 'attack.kd: a memory fault' err || fail "$deed at $address: $(cat out err)"
    done
done
hostile hostile_kernels.hsaco 14
refused 'attack.kd: a memory fault'
hostile hostile_kernels.hsaco 15
refused 'code of the trace ended the process in which it runs'
hostile hostile_kernels.hsaco 16
status 0 replay t.sbt
# Memory that counts as no data: shared, that grows, that is only read.
for deed in 17 18; do
    hostile hostile_kernels.hsaco $deed
    refused 'attack.kd: it made system call [0-9]*, which the sandbox refuses'
done
hostile hostile_kernels.hsaco 19
status 0 replay t.sbt
# An agent dispatch whose address is nobody's here.
hostile hostile_kernels.hsaco store 0x10000000000
refused 'an agent dispatch: a memory fault .* 0x10000000000'

# sandbox_of PID: the number of its sandbox, when there is one
sandbox_of() {
    for i in $(seq 300); do
        child=$(pgrep -P "$1" ts_hsa_sandbox || :)
        [ -z "$child" ] || { echo "$child"; return; }
        sleep 0.1 # until it has started
    done
}
gone() {
    for i in $(seq 300); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1 # until the kernel has ended it
    done
    fail "the sandbox is still there"
}

# A kernel, and a constructor, that never ends: --timeout.
hostile hostile_kernels.hsaco 13
status 2 replay --timeout 1 t.sbt
grep -q 'no progress for 1 s\|has not ended in 1 s' err || fail "no reason: $(cat out err)"
hostile hostile_LOOP.hsaco
status 2 replay --timeout 1 t.sbt
grep -q 'no progress for 1 s\|has not ended in 1 s' err || fail "no reason: $(cat err)"

# The sandbox is killed in the middle; the replay is: then the sandbox goes, too.
hostile hostile_kernels.hsaco 13
tsreplay --device emu t.sbt >out 2>err &
replayer=$!
sandbox=$(sandbox_of $replayer)
kill -KILL "$sandbox"
got=0
wait $replayer || got=$?
[ $got = 2 ] || fail "killed: exit status $got: $(cat out err)"
grep -q 'was killed by signal 9\|cannot be set up' err || fail "killed: $(cat out err)"
tsreplay --device emu t.sbt >out 2>err &
replayer=$!
sandbox=$(sandbox_of $replayer)
kill -KILL $replayer
wait $replayer || :
gone "$sandbox"

# What the loader does, and what it says of what it does not.
for code in PLAIN IFUNC; do
    hostile loading_$code.hsaco
    status 0 replay t.sbt
    grep -q 'all 1 checksums equal' out || fail "$code: $(cat out)"
done
hostile loading_TLS.hsaco
refused 'it has thread-local variables'
status 0 replay --trust-code t.sbt
hostile loading_LIBRARY.hsaco
refused 'it needs a library that the sandbox does not have: libzstd.so.1'
status 0 replay --trust-code t.sbt

# A variable that is said to be larger than the file's memory would be memory of the replayer.
python3 - "$TEST_PROGRAMS/hsa_kernels.hsaco" big.hsaco <<'P'
import struct, sys
file = bytearray(open(sys.argv[1], 'rb').read())
at, size, count = struct.unpack_from('<Q', file, 40)[0], *struct.unpack_from('<HH', file, 58)
sections = [struct.unpack_from('<IIQQQQIIQQ', file, at + i * size) for i in range(count)]
table = next(s for s in sections if s[1] == 11)
names = sections[table[6]]
for place in range(table[4], table[4] + table[5], 24):
    name = names[4] + struct.unpack_from('<I', file, place)[0]
    if file[name:file.index(0, name)] == b'rounds':
        struct.pack_into('<Q', file, place + 16, 1 << 30)
open(sys.argv[2], 'wb').write(file)
P
rm t.sbt
record t.sbt hsa_dispatch big.hsaco >record.out
refused 'its variable rounds ends behind its memory'

# Under another filter; under one that forbids more of them, no code runs, unless it is trusted. Nor
# without the sandbox's program.
hostile hostile_kernels.hsaco
status 0 "$TEST_PROGRAMS/nested_filter" allow tsreplay --device emu t.sbt
status 2 "$TEST_PROGRAMS/nested_filter" forbid tsreplay --device emu t.sbt
grep -q 'its sandbox cannot be set up (seccomp: .*--trust-code' err || fail "no reason: $(cat err)"
status 0 "$TEST_PROGRAMS/nested_filter" forbid tsreplay --device emu --trust-code t.sbt
mkdir alone
cp "$TEST_EMU"/libhsa-runtime64.so.1 alone/
status 2 env TS_EMU_HSA_LIBRARY="$work/alone/libhsa-runtime64.so.1" tsreplay --device emu t.sbt
grep -q 'its sandbox cannot be set up (starting it: ' err || fail "no reason: $(cat err)"
status 2 tracesmith trim --range 46: -o part.sbt --device emu --library "$work/alone/libhsa-runtime64.so.1" t.sbt
grep -q 'its sandbox cannot be set up' err || fail "trim: no reason: $(cat err)"
status 0 tracesmith trim --trust-code --range 46: -o part.sbt --device emu --library "$work/alone/libhsa-runtime64.so.1" t.sbt

# trim and --check replay, too.
for deed in FILE KILL; do
    hostile "hostile_$deed.hsaco"
    status 2 tracesmith trim --range 46: -o refused.sbt --device emu t.sbt
    status 2 replay --check=1 t.sbt
    [ ! -e hostile.made ] || fail "it was done"
done
:
