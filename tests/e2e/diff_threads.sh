#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two recordings of a program whose threads run at once are the same, in whatever order the threads begin, make their
# streams and send to a stream that they share; no change of one of them is called the same.
. "$(dirname "$0")/util.sh"

record first.sbt crossed 0 >out
record other.sbt crossed 1 >out
status 0 tsdiff first.sbt other.sbt
"$TEST_REPLAY/diff_each" other.sbt 150 1 0 "$PWD/first.sbt" >out || fail "crossed: $(cat out)"

# Twins do the same, but for where their results go.
for program in capture_threads threads twins; do
    for time in 1 2 3; do
        record $time.sbt $program >out
        status 0 tsdiff 1.sbt $time.sbt
    done
    "$TEST_REPLAY/diff_each" 3.sbt 100 1 0 "$PWD/1.sbt" >out || fail "$program: $(cat out)"
done

# What one twin does, with which bytes and in which memory, is seen.
record 1.sbt twins >out
for change in 1 2 3; do
    record other.sbt twins $change >out
    status 1 tsdiff 1.sbt other.sbt
    status 1 tsdiff other.sbt 1.sbt
done
