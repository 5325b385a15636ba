#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One byte of one payload edited: tsdiff names exactly that command and offset; replay differs.
. "$(dirname "$0")/../util.sh"
record a.sbt saxpy >/dev/null
"$TEST_PROGRAMS/edit_trace" a.sbt b.sbt cuMemcpyHtoD_v2 2 1234
status 1 tsdiff a.sbt b.sbt --json
python3 - out <<'P'
import json, sys
d = json.loads(open(sys.argv[1]).read().splitlines()[-1])
text = json.dumps(d)
assert "cuMemcpyHtoD_v2" in text, text
assert "1234" in text, text
P
status 1 replay b.sbt
status 0 tsdiff a.sbt a.sbt
