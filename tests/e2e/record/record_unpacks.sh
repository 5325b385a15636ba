#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Decompression is recorded and replayed; a piece that is unpacked elsewhere is found.
. "$(dirname "$0")/../util.sh"

same_output unpacks
grep -c 'the text' record.out | grep -qx 4 || fail "not unpacked: $(cat record.out)"
tracesmith check t.sbt
tracesmith coverage t.sbt >coverage || fail "the trace is tainted: $(cat coverage)"
status 0 replay t.sbt
grep -q 'all 1 checksums equal' out

tsview t.sbt --json >records
python3 - <<'END' || fail 'a batch does not say what it unpacks'
import json
calls = [json.loads(line) for line in open('records')][1:]
pieces = [c for c in calls if c['call'] == 'cuMemBatchDecompressAsync']
assert not [c for c in calls if 'taints' in c['flags']]
assert [(c['args']['count'], c['args']['index']) for c in pieces[:4]] == [(4, k) for k in range(4)], pieces
assert len(pieces) == 5 and 'failed' in pieces[4]['flags'], pieces
assert {c['args']['algo'] for c in pieces[:4]} == {'CU_MEM_DECOMPRESS_ALGORITHM_' + n for n in ('DEFLATE', 'SNAPPY', 'LZ4')}
END
number() {
    python3 -c "import json, sys
found = [c for c in map(json.loads, list(open('records'))[1:]) if c['call'] == 'cuMemBatchDecompressAsync'][int(sys.argv[1])]
print(eval(sys.argv[2], found))" "$1" "$2"
}
# 16 bytes further on: the program has other bytes. From a piece before it: the text, but at another size.
"$TEST_PROGRAMS/alter_trace" t.sbt moved.sbt slot "$(number 1 seq)" "5:$(number 1 "int(args['dst'], 16) + 16")"
status 1 replay moved.sbt
# Each result of one comes from the bytes that were sent, which the graph knows.
tracesmith graph --memory t.sbt >graph
grep -Eq 'read after write +[0-9]+ +[1-9]' graph || fail "nothing reads what a piece has written: $(cat graph)"

for index in 0 1 2 3; do
    status 0 replay --range "$(number $index seq):" t.sbt
    tracesmith trim --quiet --range "$(number $index seq):" --force -o part.sbt --device emu t.sbt
    status 0 replay part.sbt
done
for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_CHECKPOINT=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3 TS_EMU_RETURN=2; do
    (export "${settings?}"; record s.sbt unpacks >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done
(export TS_EMU_TIME=virtual TS_GPU_TIME=1; record v.sbt unpacks >v.out)
cmp plain.out v.out || fail 'virtual time changed the output'
status 0 replay v.sbt
