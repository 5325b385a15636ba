#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A call that fails because there is no such object changes nothing: the trace is not tainted.
. "$(dirname "$0")/../util.sh"
same_output refused
tracesmith check t.sbt
tracesmith info t.sbt >info
! grep -q taint info || fail "$(cat info)"
status 0 replay t.sbt
