#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# copies is recorded without a change, and its replay gives the same bytes.
. "$(dirname "$0")/../util.sh"
same_output copies
tracesmith check t.sbt
# Nothing waits but the copies to pageable memory themselves.
tsview t.sbt --calls 'cuMemcpy2DAsync*' --limit 1 --json | tail -n 1 >copy
tsview t.sbt --calls readback --json >readbacks
python3 - <<'END' || fail 'an asynchronous copy to pageable memory has no readback'
import json
copy = json.loads(open('copy').read())
readbacks = [json.loads(line) for line in open('readbacks')][1:]
exit(not any(r['args']['of_position'] == copy['position'] and r['seq'] <= copy['seq'] + 2 for r in readbacks))
END
status 0 replay t.sbt
grep -q 'checksums equal' out
