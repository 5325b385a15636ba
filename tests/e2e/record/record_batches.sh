#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Batches of copies are recorded and replayed whole, in part, trimmed and in virtual time; other bytes are found.
. "$(dirname "$0")/../util.sh"

# batch INDEX|all: the records of batches
batch() {
    python3 -c "import json, sys
calls = [json.loads(line) for line in open('records')][1:]
found = [c['seq'] for c in calls if c['call'].startswith('cuMemcpyBatch') and 'failed' not in c['flags']]
print(*(found if sys.argv[1] == 'all' else [found[int(sys.argv[1])]]))" "$1"
}

same_output batches
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'all 4 checksums equal' out
status 1 env TS_EMU_WRONG=1 tsreplay --device emu t.sbt

# A batch says what it copies.
tracesmith stats --json t.sbt >stats 2>/dev/null
tsview t.sbt --json >records
python3 - <<'END' || fail 'a batch does not say what it copies'
import json
calls = [json.loads(line) for line in open('records')][1:]
batches = [c for c in calls if c['call'].startswith('cuMemcpyBatchAsync')]
assert len([c for c in batches if 'failed' not in c['flags']]) == 9 and len(batches) == 11, batches
assert not [c for c in calls if 'taints' in c['flags']]
copies = json.loads(open('stats').read())['copies']
assert sum(row['count'] for row in copies if ' to ' in row['name']) == 9, copies
END
tracesmith graph --memory t.sbt >graph
grep -Eq 'read after write +0 +[1-9]' graph || fail 'no batch reads what another one wrote'

# In part, from each batch on; and trimmed, where a result before it proves the memory that is kept.
for from in $(batch all); do
    status 0 replay --range "$from:" t.sbt
done
for index in 3 4 5 7 8; do # 6 is behind a function whose bytes come later
    tracesmith trim --quiet --range "$(batch $index):" --force -o part.sbt --device emu t.sbt
    status 0 replay part.sbt
done
for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3 TS_EMU_RETURN=2; do
    (export "${settings?}"; record s.sbt batches >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done

# In virtual time (tests/e2e/whatif.py has more of it).
(export TS_EMU_TIME=virtual TS_GPU_TIME=1; record v.sbt batches >v.out)
cmp plain.out v.out || fail 'virtual time changed the output'
status 0 replay v.sbt
