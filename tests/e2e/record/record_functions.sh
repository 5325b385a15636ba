#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of the program that the GPU calls write memory which later commands read, through the
# GPU's eyes and as the source of asynchronous copies, before they have run. Replay gives the same
# bytes, and two recordings are equal.
. "$(dirname "$0")/../util.sh"
same_output hostmem callback
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'checksums equal' out

same_output functions
tracesmith check t.sbt
status 0 replay t.sbt
grep -q 'all 24 checksums equal' out || fail "$(cat out)"
status 0 replay t.sbt --check=3
tsview t.sbt >view
grep -q '\[late\]' view || fail "no payload was left to a function"
record u.sbt functions >/dev/null
# Which of two functions writes first is chance; nothing else may differ. (row D7 of docs/verdict.md)
tsdiff t.sbt u.sbt >out || grep -q 'cannot tell.*writes to host memory differ' out || fail "$(cat out)"
