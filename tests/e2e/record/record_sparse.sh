#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sparse arrays are recorded and replayed, also from checkpoints; a tile elsewhere is found.
. "$(dirname "$0")/../util.sh"

same_output sparse
tracesmith check t.sbt
tracesmith coverage t.sbt >coverage || fail "the trace is tainted: $(cat coverage)"
status 0 replay t.sbt
grep -q 'all 7 checksums equal' out
status 1 env TS_EMU_WRONG=1 tsreplay --device emu t.sbt

# One operation a record; the kernel that paints the array comes after those on its stream, and conflicts with them.
tsview t.sbt --json >records
tracesmith graph --memory --json t.sbt >graph
python3 - <<'END' || fail 'the operations are not what the program said'
import json, subprocess
calls = [json.loads(line) for line in open('records')][1:]
maps = [c for c in calls if c['call'] == 'cuMemMapArrayAsync']
assert [(m['args']['count'], m['args']['index']) for m in maps[:3]] == [(3, 0), (3, 1), (3, 2)], maps
assert [m['args']['size'] for m in maps[:3]] == [64 << 10] * 3, maps
kernel = next(c['seq'] for c in calls if c['call'] == 'cuLaunchKernel')
assert subprocess.run(['tracesmith', 'graph', f'--path={maps[0]["seq"]}:{kernel}', 't.sbt'],
                      capture_output=True).returncode == 0
END
map=$(python3 -c "import json
print([c['seq'] for c in map(json.loads, list(open('records'))[1:]) if c['call'] == 'cuMemMapArrayAsync'][1])")
# The second tile is mapped where the third one is to be: the first array has another texel there.
"$TEST_PROGRAMS/alter_trace" t.sbt moved.sbt slot "$map" 12:128
got=0
replay moved.sbt >out 2>err || got=$?
[ $got != 0 ] || fail "a tile that lies elsewhere is the same: $(cat out)"

for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3 TS_EMU_RETURN=2; do
    (export "${settings?}"; record s.sbt sparse >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done

# From checkpoints: what is mapped is saved. Bytes that were mapped before and may come back are not, which is said.
(export TS_CHECKPOINT=1; record c.sbt sparse keep >c.out)
plain sparse keep | cmp - c.out || fail 'checkpoints changed the output'
tsview c.sbt --json >records
for from in $(python3 -c "import json
print(*[c['seq'] for c in map(json.loads, list(open('records'))[1:]) if c['position']])"); do
    status 0 replay --range "$from:" c.sbt
done
grep -q 'from checkpoint' out || fail "no range begins at a checkpoint: $(cat out)"
(export TS_CHECKPOINT=1; record c.sbt sparse >c.out)
status 2 replay c.sbt
grep -q 'tiles that no sparse array has mapped' out || fail "the lost tiles are not named: $(cat out)"
