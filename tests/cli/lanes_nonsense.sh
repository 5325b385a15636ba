# SPDX-License-Identifier: Apache-2.0
# Buffers that make no sense are no reason not to read the trace beside them.
make_trace whole t.sbt
head -c 10000 /dev/zero > t.sbt.lanes
tsview -n 1 t.sbt
echo text > t.sbt.lanes
tsview -n 1 t.sbt
