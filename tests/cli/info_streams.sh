# SPDX-License-Identifier: Apache-2.0
# --streams and --range say of which records, so they count calls as --calls does.
make_trace whole t.sbt
for part in --streams=1 --range=2:5 --range=5ms:; do
    tracesmith info -q $part t.sbt >implied
    tracesmith info -q --calls $part t.sbt >asked
    cmp implied asked && grep -c count implied
    tracesmith info --json $part t.sbt | grep -q '"calls"' && echo "$part: calls"
done
tracesmith info -q t.sbt | grep -c count
