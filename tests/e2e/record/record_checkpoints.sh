#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With a checkpoint as often as one can be taken each program prints the same, every call of it returns
# the same, and its replay is equal: from the beginning and from its checkpoints.
. "$(dirname "$0")/../util.sh"

# results TRACE: call and result of each record, of those whose result time decides left out; threads
# may take turns otherwise, so without an order
results() {
    tsview --json "$1" | python3 -c '
import json, sys
for line in sys.stdin:
    record = json.loads(line)
    call = record.get("call", "")
    if record.get("api") == "cuda" and not call.endswith("Query") and call != "cuGraphGetNodes":
        print(call, record["result"])' | sort
}

# from_checkpoints PROGRAM COUNT: from about COUNT of them
from_checkpoints() {
    ends=$(tsview t.sbt | awk '/checkpoint_end/ { print before } { before = $1 }')
    total=$(echo "$ends" | wc -w)
    [ "$total" -gt 0 ] || case $1 in capture*) ;; *) fail "$1: no checkpoint" ;; esac # soon after one failed none is tried
    step=$((total / $2 + 1))
    for seq in $(echo "$ends" | awk -v step="$step" 'NR % step == 1 % step'); do
        got=0
        replay t.sbt --range "$((seq + 1)):" --json >out 2>err || got=$?
        [ "$got" = 0 ] || [ "$(field out difference_count)" = 0 ] ||
            fail "$1 from the checkpoint before $((seq + 1)): $(cat out err)"
        [ "$got" != 1 ] || fail "$1 differs from record $((seq + 1)) on: $(cat out err)"
    done
}

export TS_CHECKSUM=off
for program in saxpy pipeline threads copies hostmem 'hostmem callback' pointers pools virtual managed managed_variables \
    linked functions 'rounds 12 3' kinds surface texture formats values graphs captures conditional \
    capture_threads releases ends; do
    chosen 4 || continue
    set -- $program
    record u.sbt "$@" >/dev/null 2>&1
    export TS_CHECKPOINT=1
    same_output "$@"
    unset TS_CHECKPOINT
    results u.sbt >without
    results t.sbt >with
    cmp without with || fail "$program: calls return something else: $(diff without with | head -5)"
    tracesmith check t.sbt >/dev/null
    status 0 replay t.sbt
    from_checkpoints "$program" 6
done
