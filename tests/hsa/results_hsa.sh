#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What kernels leave in memory of the host is compared in default settings, in whatever way the program learns that
# they are done: a device that computes something else, or loses stores, never gets "same"; nor where the right
# result is what was there before. Where it was never seen that they were done, the verdict is "cannot tell".
. "$(dirname "$0")/../e2e/util.sh"
kernels=$TEST_PROGRAMS/hsa_kernels.hsaco
# never_same NAME=VALUE...: the environment of a device that is wrong
never_same() {
    got=0
    timeout 60 env "$@" tsreplay --device emu --trust-code --timeout 30 t.sbt >out 2>err || got=$?
    [ $got = 1 ] || [ $got = 2 ] || fail "$case: $*: exit status $got: $(cat out err)"
    [ $got = 1 ] || [ $expected = 2 ] || grep -q 'memory of the host that' out || fail "$case: $*: $(cat out err)"
}
# try SETTING WAY MEMORY [still]
try() {
    chosen 4 || return 0
    case=$*
    setting=$1
    shift
    plain hsa_results "$kernels" "$@" >plain.out
    (export "$setting" && record t.sbt hsa_results "$kernels" "$@" >record.out)
    cmp plain.out record.out || fail "$case: recording changed the output"
    expected=0
    case $1 in
    memory | no_signal | pointer | end_of_queue | shut_down | exit) expected=2 ;;
    esac
    status $expected timeout 60 tsreplay --device emu --timeout 30 t.sbt
    case $expected in
    2) grep -q 'bytes given back' out || fail "$case: no reason: $(cat out err)" ;;
    0) for option in --pace=fast --order=permuted:1 --pace=stepped --grain=command; do
           status 0 timeout 60 tsreplay --device emu --timeout 30 $option t.sbt
       done ;;
    esac
    never_same TEST_OTHER_RESULT=1
    never_same TEST_OTHER_RESULT=1 TS_EMU_LATE=3
    [ $# = 2 ] || return 0 # a kernel that does nothing leaves all as it was
    never_same TS_EMU_NOOP=1
    never_same TEST_LOST=1:7
    never_same TEST_LOST=1:4000
}

{ read -r ways && read -r memories; } <<END
$(plain hsa_results)
END
for way in $ways; do
    try TS_CHECKSUM=off "$way" fine
done
for memory in $memories; do
    try TS_CHECKSUM=off wait "$memory"
    try TS_CHECKSUM=sync load "$memory"
    try TS_READBACK=hash any "$memory"
    try TS_VK_MEMORY=hash gate "$memory"
    try TS_CHECKSUM=off last "$memory" still
done

# What a copy gave that another one overwrites as soon as the program has read it: never lost without a word.
for way in signals barrier; do
    plain hsa_gated "$kernels" $way >plain.out
    record t.sbt hsa_gated "$kernels" $way >record.out
    cmp plain.out record.out || fail "gated $way: recording changed the output"
    got=0
    replay --trust-code t.sbt >out 2>err || got=$?
    [ $got = 0 ] || [ $got = 2 ] || fail "gated $way: exit status $got: $(cat out err)"
    got=0
    TS_EMU_NOOP=1 replay --trust-code t.sbt >out 2>err || got=$?
    [ $got = 1 ] || [ $got = 2 ] || fail "gated $way: exit status $got where kernels do nothing: $(cat out err)"
done

# Memory that is given up when it was not asked yet whether the result is there: taken before it goes.
for way in copy kernel lock; do
    plain hsa_given_up "$kernels" $way >plain.out
    record t.sbt hsa_given_up "$kernels" $way >record.out
    cmp plain.out record.out || fail "given up, $way: recording changed the output"
    status 0 timeout 60 tsreplay --device emu --timeout 30 t.sbt
    case="given up, $way" expected=0
    never_same TS_EMU_NOOP=1
done
