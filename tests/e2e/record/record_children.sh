#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that a recorded program starts get traces of their own, also without %p; a second recording
# replaces the first one's.
. "$(dirname "$0")/../util.sh"

in_shell() {
    LD_LIBRARY_PATH=$TEST_EMU LD_PRELOAD="$preload" TS_OUTPUT=t.sbt \
        sh -c '"$1/saxpy"; "$1/saxpy"; exec "$1/pipeline"' sh "$TEST_PROGRAMS" >record.out
}
for round in 1 2; do
    in_shell
    [ "$(ls)" = "$(printf 'record.out\nt.1.sbt\nt.2.sbt\nt.sbt')" ] || fail "files: $(ls)"
    for trace in t.sbt t.1.sbt t.2.sbt; do
        tracesmith check "$trace" >/dev/null
    done
    tsview t.2.sbt >view
    grep -q cuStreamWaitEvent view || fail "t.2.sbt is not of the last program"
    rm view
done

rm t*.sbt
TS_CHILDREN=0 in_shell
[ "$(ls)" = "$(printf 'record.out\nt.sbt')" ] || fail "files with TS_CHILDREN=0: $(ls)"
