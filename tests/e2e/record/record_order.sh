#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recorded order on a stream is that in which the driver got the calls, with several threads and calls
# that wait: the software GPU's own queue is the witness. More: record_order.sh FIRST LAST STEPS
. "$(dirname "$0")/../util.sh"

cat >compare.py <<'P'
import json, sys

COPY_MEMSET_KERNEL = '1', '2', '0'
sent, recorded = {}, {}
for line in open(sys.argv[1]):
    number, stream, thread, node = line.split()
    if node in COPY_MEMSET_KERNEL:
        sent.setdefault(int(stream), []).append(int(thread))
for line in open(sys.argv[2]):
    record = json.loads(line)
    if record.get('kind') == 'command' and 'HostFunc' not in record['call']:
        recorded.setdefault(record['stream'], []).append((record['position'], record['thread']))
assert len(sent) == len(recorded) == 3, (sent.keys(), recorded.keys())
# Both number streams in the order in which they were made.
for (_, threads), (stream, calls) in zip(sorted(sent.items()), sorted(recorded.items())):
    calls.sort()
    mine = [thread for _, thread in calls]
    assert len(set(mine)) > 1, mine
    if threads != mine:
        at = next((i for i, pair in enumerate(zip(threads, mine)) if pair[0] != pair[1]), -1)
        sys.exit(f'stream {stream}: {len(threads)} sent, {len(mine)} recorded; '
                 f'they part at {at}: {threads[at - 3:at + 4]} {mine[at - 3:at + 4]}')
P

first=${1:-1} last=${2:-6} steps=${3:-120}
for seed in $(seq "$first" "$last"); do
    rm -f queue
    plain queues "$seed" "$steps" >plain.out
    TS_EMU_QUEUE=$work/queue record t.sbt queues "$seed" "$steps" >record.out
    cmp plain.out record.out
    tsview --json t.sbt >view
    python3 compare.py queue view || fail "seed $seed"
done
