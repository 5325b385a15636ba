#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Multicast objects over two devices are recorded and replayed; memory that is bound elsewhere is found.
. "$(dirname "$0")/../util.sh"

export TS_EMU_DEVICES=2 TS_EMU_CC=9.0
same_output multicast
grep -q 'first sums of 0: 201, 201' record.out || fail "not of two devices: $(cat record.out)"
tracesmith check t.sbt
tracesmith coverage t.sbt >coverage || fail "the trace is tainted: $(cat coverage)"
unset TS_EMU_DEVICES TS_EMU_CC # the trace says what it needs
status 0 replay t.sbt
grep -q 'all 10 checksums equal' out
status 0 tsreplay --device emu --device-map=0:1,1:0 t.sbt
status 1 env TS_EMU_NOOP=1 tsreplay --device emu t.sbt
status 2 env TS_EMU_DEVICES=1 tsreplay --device emu t.sbt
grep -q cuMulticastCreate err || fail "the call is not named: $(cat err)"

# The second device's memory is bound to the second half of the object alone, twice: its first half stays as it is.
tsview t.sbt --json >records
number() {
    python3 -c "import json, sys
print([c['seq'] for c in map(json.loads, list(open('records'))[1:]) if c['call'] == sys.argv[1]][int(sys.argv[2])])" "$1" "$2"
}
python3 - <<'END' || fail 'a call of multicast objects taints the trace'
import json
calls = [json.loads(line) for line in open('records')][1:]
assert not [c for c in calls if 'taints' in c['flags']]
assert len([c for c in calls if c['call'].startswith('cuMulticast')]) == 9
END
"$TEST_PROGRAMS/alter_trace" t.sbt other.sbt flag "$(number cuMulticastBindMem 2)" 1 # failed: not replayed
got=0
replay other.sbt >out 2>err || got=$?
[ $got != 0 ] || fail "memory that is not bound is the same: $(cat out)"

export TS_EMU_DEVICES=2 TS_EMU_CC=9.0
for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_CHECKPOINT=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3 TS_EMU_CHECK=all; do
    (export "${settings?}"; record s.sbt multicast >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done
(export TS_CHECKPOINT=1; record c.sbt multicast >c.out)
tsview c.sbt --json >records
for from in $(python3 -c "import json
print(*[c['seq'] for c in map(json.loads, list(open('records'))[1:])
        if c['position'] and 'ynchronize' not in c['call']])"); do
    chosen 2 || continue
    status 0 replay --range "$from:" c.sbt
done
(export TS_EMU_TIME=virtual TS_GPU_TIME=1; record v.sbt multicast >v.out)
cmp plain.out v.out || fail 'virtual time changed the output'
status 0 replay v.sbt
