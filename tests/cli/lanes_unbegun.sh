# SPDX-License-Identifier: Apache-2.0
# A program was killed while its recording was being set up: that is said, and nothing of it stays.
umask 077 # as a recorder makes them
: > t.sbt.lanes
tsview t.sbt || echo "exit $?"
ls
head -c 8192 /dev/zero > t.sbt.lanes
head -c 64 /dev/zero > t.sbt.new
tracesmith info t.sbt || echo "exit $?"
ls
make_trace whole t.sbt
head -c 8192 /dev/zero > t.sbt.lanes
tsview -n 1 t.sbt
ls
