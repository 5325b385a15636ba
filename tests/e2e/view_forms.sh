#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The views of one trace agree with one another, and with the independent decoder.
. "$(dirname "$0")/util.sh"
record t.sbt pointers >/dev/null
tsview t.sbt >text
tsview t.sbt --json >json
grep -q 'mix_struct<<<1,128>>>\|mix_struct<<<' text || fail "no launch in the view"
python3 "$TEST_SOURCE/tests/decoder/sbt.py" t.sbt >decoded
cmp json decoded || fail "tsview --json and tests/decoder/sbt.py disagree"
tsview t.sbt --stacks >stacks
grep -q 'main' stacks || fail "no symbol in the stacks"
tracesmith info t.sbt >info
grep -qi 'complete\|finished' info
