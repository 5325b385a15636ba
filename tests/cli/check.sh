# SPDX-License-Identifier: Apache-2.0
# Violations on stdout with their place, and exit status 1; what is no trace at all is an error.
make_trace whole whole.sbt
make_trace torn torn.sbt
cp whole.sbt broken.sbt
printf 'x' | dd of=broken.sbt bs=1 seek=300 conv=notrunc 2> dd.log
tracesmith check whole.sbt
tracesmith check -q broken.sbt > text || echo "exit $?"
grep -q '^broken.sbt: byte [0-9]*: ' text
tracesmith check --json whole.sbt torn.sbt > json || echo "exit $?"
head -n 1 json
tracesmith check dd.log || echo "exit $?"
