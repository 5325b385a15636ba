#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Batches of boxes, and batches in captured streams, are recorded and replayed; other bytes are found.
. "$(dirname "$0")/../util.sh"

same_output boxes
tracesmith check t.sbt
tracesmith coverage t.sbt >coverage || fail "the trace is tainted: $(cat coverage)"
status 0 replay t.sbt
grep -q 'all 8 checksums equal' out
status 1 env TS_EMU_WRONG=1 tsreplay --device emu t.sbt

# A record for each box, in the terms of a copy; those of a graph have no place on a stream.
tsview t.sbt --json >records
python3 - <<'END' || fail 'a batch does not say what it copies'
import json
calls = [json.loads(line) for line in open('records')][1:]
boxes = [c for c in calls if c['call'].startswith('cuMemcpy3DBatchAsync')]
assert not [c for c in calls if 'taints' in c['flags']]
assert len([c for c in boxes if 'captured' in c['flags']]) == 3, boxes
assert len([c for c in calls if c['call'].startswith('cuMemcpyBatchAsync') and 'captured' in c['flags']]) == 2
sent = [c['args'] for c in boxes if c['position'] and 'failed' not in c['flags']]
assert [(a['numOps'], a['index']) for a in sent] == [(1, 0), (3, 0), (3, 1), (3, 2), (2, 0), (2, 1)], sent
assert sent[0]['copy.WidthInBytes'] == 24 and sent[3]['copy.WidthInBytes'] == 12, sent # of 4 bytes a texel
assert sent[1]['copy.srcXInBytes'] == 4 and sent[1]['copy.dstPitch'] == 256, sent[1]
END
# Another row of the array goes to the program.
box=$(python3 -c "import json
print([c['seq'] for c in map(json.loads, list(open('records'))[1:]) if c['call'] == 'cuMemcpy3DBatchAsync'][2])")
"$TEST_PROGRAMS/alter_trace" t.sbt other.sbt slot "$box" 4:3
status 1 replay other.sbt

for from in $(python3 -c "import json
print(*[c['seq'] for c in map(json.loads, list(open('records'))[1:])
        if c['position'] and 'ynchronize' not in c['call'] and 'failed' not in c['flags']])"); do
    status 0 replay --range "$from:" t.sbt
    tracesmith trim --quiet --range "$from:" --force -o part.sbt --device emu t.sbt
    status 0 replay part.sbt
done
for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_CHECKPOINT=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3 TS_EMU_RETURN=2; do
    (export "${settings?}"; record s.sbt boxes >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done
(export TS_EMU_TIME=virtual TS_GPU_TIME=1; record v.sbt boxes >v.out)
cmp plain.out v.out || fail 'virtual time changed the output'
status 0 replay v.sbt
