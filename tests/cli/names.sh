# SPDX-License-Identifier: Apache-2.0
# tsview is `tracesmith view`, also under a path; messages begin with the name that was used.
make_trace whole t.sbt
tsview -n1 t.sbt
tracesmith view -n1 t.sbt
"$BUILD/tools/tsview" -n1 t.sbt
tracesmith nonsense || echo "exit $?"
tracesmith vew t.sbt || echo "exit $?"
tracesmith help reply || echo "exit $?"
