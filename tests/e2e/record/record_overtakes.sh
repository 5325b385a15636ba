#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands that write memory which host and GPU share are ahead of the calls that send them, and another thread
# looks for changes meanwhile: what it finds is not the program's. A call that fails writes nothing. The other
# thread may be too late now and then: then less is tested, and nothing fails.
. "$(dirname "$0")/../util.sh"
export TS_EMU_LINGER=50
same_output overtakes
unset TS_EMU_LINGER
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out
status 0 replay t.sbt --order=permuted:3
TS_EMU_NOOP=1 status 1 replay t.sbt

# The program writes there at the end alone. Behind a wait, or when a command is known to be over (held),
# it is not told any more who has written.
tsview --json t.sbt | python3 -c 'import json, sys
begin = count = 0
for r in map(json.loads, sys.stdin):
    call = r.get("call")
    if call == "cuMemHostAlloc":
        begin = int(str(r["args"]["pp"]), 0)
        count += 1
    elif call == "cuStreamSynchronize":
        begin = 0
    elif call == "host_write" and begin and count < 21 and "held" not in r["flags"]:
        assert not 0 <= int(str(r["args"]["address"]), 0) - begin < 16384, r
assert count == 21, count'
