#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A child that a signal handler forks in the midst of our code is in the trace, which goes on.
. "$(dirname "$0")/../util.sh"
[ -z "${TEST_SANITIZED:-}" ] || exit 77
for i in 1 2 3 4; do
    same_output forks_in_handler
    tracesmith check t.sbt >/dev/null
    tsview --json t.sbt >view.json
    grep -q '"end":"finished"' view.json || fail "$(head -n 1 view.json)"
    [ "$(field view.json lost)" = 0 ] || fail "$(field view.json lost) records are lost"
    [ "$(grep -c '"call":"fork"' view.json)" = 48 ] || fail "$(grep -c '"call":"fork"' view.json) forks"
done
