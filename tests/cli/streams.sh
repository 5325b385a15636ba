# SPDX-License-Identifier: Apache-2.0
# A row for each stream that records are on, as text and as JSON; --streams takes its numbers.
make_trace whole t.sbt
tracesmith streams t.sbt
tracesmith streams --json t.sbt
cp "$TESTS/../golden/empty.sbt" e.sbt
tracesmith streams e.sbt
