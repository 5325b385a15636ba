# SPDX-License-Identifier: Apache-2.0
# Calls that taint a trace are named, and make the exit status 1.
make_trace whole t.sbt
tracesmith coverage t.sbt || echo "exit $?"
tracesmith coverage --json t.sbt || echo "exit $?"
make_trace many t.sbt 10
tracesmith coverage t.sbt
