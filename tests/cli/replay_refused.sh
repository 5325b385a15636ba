# SPDX-License-Identifier: Apache-2.0
# A trace of an API that nothing here can replay: one line, and exit status 2.
make_trace whole t.sbt
tsreplay t.sbt || echo "exit $?"
tsreplay --dry-run t.sbt || echo "exit $?"
tsreplay --json t.sbt || echo "exit $?"
tsreplay --check=0 t.sbt || echo "exit $?"
tsreplay --pace=slow t.sbt || echo "exit $?"
