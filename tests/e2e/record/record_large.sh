#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies of more bytes than one record can name are recorded whole, and so is what they give back.
. "$(dirname "$0")/../util.sh"

# A small lane has such records early: 256 MiB take as many keys as a quarter of it holds.
export TS_LANE_SIZE=256K
same_output large 272
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out
# Nothing of what came back may be missing.
tsview --json t.sbt >view.json
python3 - <<'P'
import json
size = {}
for line in open('view.json'):
    record = json.loads(line)
    assert 'truncated' not in record.get('flags', []), record
    if record.get('call') == 'readback':
        fields = record['args']
        key = fields['of_stream'], fields['of_position']
        size[key] = size.get(key, 0) + fields['size']
MIB = 1 << 20
assert sorted(size.values()) == [272 * (MIB - 512)] + 4 * [272 * MIB], size
P
