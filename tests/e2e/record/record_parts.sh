#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Green contexts, and events of whole contexts, are recorded and replayed whole, in part, trimmed and in virtual time.
. "$(dirname "$0")/../util.sh"

same_output parts
tracesmith check t.sbt
tracesmith coverage t.sbt >coverage || fail "the trace is tainted: $(cat coverage)"
status 0 replay t.sbt
grep -q 'all 2 checksums equal' out
status 1 env TS_EMU_WRONG=1 tsreplay --device emu t.sbt
# A device whose multiprocessors come in groups of 8 has two groups in place of three.
status 0 env TS_EMU_CC=9.0 tsreplay --device emu t.sbt
for settings in TS_EMU_LATE=5 TS_EMU_STREAMS=serial TS_EMU_SCHEDULE=random:3; do
    status 0 env TS_EMU_STREAMS=serial "$settings" tsreplay --device emu t.sbt
done

# The graph knows what an event of all streams orders, and what not.
tsview t.sbt --json >records
python3 - <<'END' || fail 'the graph does not know what is ordered'
import json, subprocess
calls = [json.loads(line) for line in open('records')][1:]
assert not [c for c in calls if 'taints' in c['flags']]
def of(name):
    return [c['seq'] for c in calls if c['call'] == name]
green_event, green_wait = of('cuGreenCtxRecordEvent')[0], of('cuGreenCtxWaitEvent')[0]
event, wait = of('cuCtxRecordEvent')[0], of('cuCtxWaitEvent')[0]
kernels, copies = of('cuLaunchKernel'), of('cuMemcpyDtoDAsync_v2')
def ordered(a, b):
    return subprocess.run(['tracesmith', 'graph', f'--path={a}:{b}', 't.sbt'], capture_output=True).returncode == 0
for chain in [(kernels[0], green_event), (kernels[1], green_event), (green_event, green_wait), (green_wait, copies[0]),
              (green_wait, copies[1]), (kernels[2], event), (kernels[3], event), (wait, copies[2]), (wait, copies[3]),
              (kernels[0], copies[0]), (kernels[3], copies[3])]:
    assert ordered(*chain), chain
for chain in [(kernels[0], kernels[1]), (green_event, kernels[3]), (green_wait, kernels[3]), (event, kernels[3]),
              (kernels[2], kernels[3]), (copies[0], copies[1])]:
    assert not ordered(*chain), chain
END

# In part, from each command on, and trimmed; with checkpoints; a wait that is left out is missed.
commands=$(python3 -c "import json
print(*[c['seq'] for c in map(json.loads, list(open('records'))[1:]) if c['position']])")
for from in $commands; do
    chosen 2 || continue
    status 0 replay --range "$from:" t.sbt
    tracesmith trim --quiet --range "$from:" --force -o part.sbt --device emu t.sbt
    status 0 replay part.sbt
done
for settings in TS_CHECKSUM=sync TS_CHECKSUM=submit TS_ACCESSES=1 TS_CHECKPOINT=1 TS_EMU_STREAMS=serial TS_EMU_LATE=3 \
    TS_EMU_RETURN=2; do
    (export "${settings?}"; record s.sbt parts >s.out) || fail "$settings: the program failed"
    cmp plain.out s.out || fail "$settings changed the output"
    status 0 replay s.sbt
done
record s.sbt parts >s.out
tsdiff t.sbt s.sbt >out || [ $? = 2 ] || fail "two recordings differ: $(cat out)"
(export TS_EMU_TIME=virtual TS_GPU_TIME=1; record v.sbt parts >v.out)
cmp plain.out v.out || fail 'virtual time changed the output'
status 0 replay v.sbt
