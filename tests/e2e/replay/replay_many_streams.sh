#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# More streams alive at once than a replay has threads, each of which waits for the one before.
. "$(dirname "$0")/../util.sh"
same_output streams 1500
status 0 replay t.sbt
status 0 replay t.sbt --order=permuted:2
status 3 replay t.sbt --streams 700 # it reads nothing back

# With fewer threads than streams and workers together would take: the limit is none for root.
if [ "$(id -u)" = 0 ] && command -v setpriv prlimit >/dev/null; then
    limited() { # without a home and a cache
        setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc="$1" \
            env HOME=/nonexistent TS_EMU_CACHE=0 "$TEST_BIN/tsreplay" --device emu t.sbt
    }
    chmod 755 .
    chmod 644 t.sbt
    status 0 limited 2850 # on a busy machine threads that end stay for a while
    status 2 limited 400
    grep -q 'ulimit -u' err || fail "$(cat err)"
fi
