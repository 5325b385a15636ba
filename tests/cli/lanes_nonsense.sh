# SPDX-License-Identifier: Apache-2.0
# Buffers that make no sense are no reason not to read the trace beside them, and stay where they are.
umask 077 # as a recorder makes them
make_trace whole t.sbt
echo text > t.sbt.lanes
tsview -n 1 t.sbt
cat t.sbt.lanes
head -c 10000 /dev/urandom | tr '\0' x > t.sbt.lanes
tsview -n 1 t.sbt
wc -c < t.sbt.lanes
