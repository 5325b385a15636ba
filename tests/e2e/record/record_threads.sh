#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads with streams of their own and a shared one: the order on the shared stream is kept.
. "$(dirname "$0")/../util.sh"
same_output threads 8 30
status 0 replay t.sbt
tsview t.sbt --json --streams 1 >stream1
python3 - stream1 <<'P'
import json, sys
last = count = 0
for line in open(sys.argv[1]):
    record = json.loads(line)
    if record.get("stream") != 1 or record["kind"] != "command":
        continue  # a synchronisation takes a position too, and returns later
    assert record["position"] > last, (record["position"], last)
    last = record["position"]
    count += 1
assert count == 8 * 30, count
P
# Others send nothing while a thread reads what memory holds.
for round in 1 2 3; do
    rm -f t.sbt
    export TS_CHECKSUM=sync
    same_output threads 8 30
    unset TS_CHECKSUM
    status 0 replay t.sbt
done
