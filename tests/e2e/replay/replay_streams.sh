#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A subset of streams is replayed with what it depends on, and nothing else.
. "$(dirname "$0")/../util.sh"
record t.sbt threads 3 20 >/dev/null
status 0 replay t.sbt --json
all=$(field out command_count)
status 0 replay t.sbt --streams 2 --json
some=$(field out command_count)
[ "$some" -lt "$all" ] || fail "--streams 2 sent all $all commands"
record p.sbt pipeline 10 >/dev/null
status 0 replay p.sbt --streams 3 --json
[ "$(field out checksum_count)" -ge 10 ] || fail "downloads were not verified: $(cat out)"

# What another thread has waited for is carried out, too, or there is no verdict.
for way in copy rows box down pool function graph freed; do
    record h.sbt handed $way >/dev/null
    status 0 replay h.sbt --streams 2
done
for way in mapped variable list; do
    record h.sbt handed $way >/dev/null
    status 0 replay h.sbt
    status 2 replay h.sbt --streams 2
    grep -q 'a thread that may have told another one' out || fail "$way: no reason: $(cat out)"
done
