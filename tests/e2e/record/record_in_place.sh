#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What kernels write in memory of the program, beside its functions and in contexts that are destroyed, is never
# taken for the program's: the same device gives "same", one whose kernels do less never does.
. "$(dirname "$0")/../util.sh"

# not_same COMMAND...: different or not known
not_same() {
    got=0
    "$@" >out 2>err || got=$?
    [ "$got" = 1 ] || [ "$got" = 2 ] || fail "exit status $got: $* $(cat out err)"
}
for way in functions graph capture contexts; do
    for setting in TS_CHECKSUM=off TS_CHECKSUM=sync TS_CHECKSUM=submit TS_CHECKPOINT=1; do
        export "${setting?}"
        same_output in_place $way
        unset TS_CHECKSUM TS_CHECKPOINT
        tracesmith check t.sbt >/dev/null
        status 0 replay t.sbt
        TS_EMU_NOOP=1 not_same replay t.sbt
        TS_EMU_DROP=10:1 not_same replay t.sbt
    done
    for option in --order=permuted:2 --loop=2 --check=1; do
        status 0 replay t.sbt $option
        TS_EMU_NOOP=1 not_same replay t.sbt $option
    done
done
