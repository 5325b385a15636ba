#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kernel on two devices at once is recorded and replayed, with what it waits for.
. "$(dirname "$0")/../util.sh"

export TS_EMU_DEVICES=2
same_output together
tracesmith check t.sbt
tracesmith coverage t.sbt >coverage || fail "the trace is tainted: $(cat coverage)"
unset TS_EMU_DEVICES # the trace says it
status 0 replay t.sbt
grep -q 'all 2 checksums equal' out
status 0 tsreplay --device emu --device-map=0:1,1:0 t.sbt
status 1 env TS_EMU_NOOP=1 tsreplay --device emu t.sbt
for schedule in reverse random:3 random:4; do
    status 0 env TS_EMU_STREAMS=serial TS_EMU_SCHEDULE=$schedule tsreplay --device emu t.sbt
done

tsview t.sbt --json >records
launches=$(python3 - <<'END'
import json
calls = [json.loads(line) for line in open('records')][1:]
found = [c for c in calls if c['call'] == 'cuLaunchCooperativeKernelMultiDevice']
assert not [c for c in calls if 'taints' in c['flags']]
assert [(c['args']['numDevices'], c['args']['index']) for c in found[:2]] == [(2, 0), (2, 1)], found
assert found[0]['stream'] != found[1]['stream'] and 'ordered' in found[0]['flags'] and 'failed' in found[2]['flags'], found
assert all(c['args']['name'] == 'take' and len(c['args']['arguments']) > 2 for c in found[:2]), found
print(*[c['seq'] for c in found[:2]])
END
) || fail 'a launch does not say what it is'
# A part that begins between the two: it is said, not sent alone.
tracesmith trim --quiet --range "${launches#* }:" --force -o part.sbt --device emu t.sbt
status 2 replay part.sbt
grep -q 'part of a launch on 2 devices' err || fail "the missing part is not named: $(cat err)"
tracesmith trim --quiet --range "${launches% *}:" --force -o part.sbt --device emu t.sbt
status 0 replay part.sbt

export TS_EMU_DEVICES=2
for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_CHECKPOINT=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3; do
    (export "${settings?}"; record s.sbt together >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done
(export TS_EMU_TIME=virtual TS_GPU_TIME=1; record v.sbt together >v.out)
cmp plain.out v.out || fail 'virtual time changed the output'
status 0 replay v.sbt
