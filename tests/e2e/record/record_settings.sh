#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each value of TS_READBACK leaves a sound trace, as do copies and parts of it; hashes alone tell a GPU that
# computes something else. A value of TS_APIS that names no API is ignored, which one line says.
. "$(dirname "$0")/../util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77

for value in off hash store; do
    export TS_READBACK=$value
    same_output rounds 5
    same=0
    [ $value != off ] || same=3
    status 0 tracesmith check t.sbt
    [ "$(cat out)" = "t.sbt: ok" ] || fail "$value: $(cat out)"
    status $same replay t.sbt
    TS_EMU_NOOP=1 replay t.sbt >out 2>&1 && fail "$value: same on a GPU that does nothing"
    rm -f r.sbt c.sbt p.sbt
    status 0 tracesmith redact --remove=paths -o r.sbt t.sbt
    status 0 tracesmith check r.sbt
    status $same replay r.sbt
    status 0 tracesmith redact -o c.sbt t.sbt
    status 0 tracesmith check c.sbt
    status 0 tracesmith trim --device emu --range 40:200 -o p.sbt t.sbt
    status 0 tracesmith check p.sbt
    [ $value = off ] || status $same replay p.sbt
done
unset TS_READBACK

for value in nonsense , cuda,vulcan; do
    TS_APIS=$value record t.sbt rounds 5 >/dev/null 2>err
    [ "$(grep -c "TS_APIS=$value is not one of cuda|vulkan|hsa|hip|drm|nvtx; it is ignored" err)" = 1 ] || fail "$(cat err)"
    [ "$(wc -l <err)" = 1 ] || fail "$(cat err)"
    status 0 replay t.sbt
done
TS_APIS=drm,cuda record t.sbt rounds 5 >/dev/null 2>err
[ ! -s err ] || fail "$(cat err)"
status 0 replay t.sbt
