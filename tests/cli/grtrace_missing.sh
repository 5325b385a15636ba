# SPDX-License-Identifier: Apache-2.0
# Without the module, or with a trace that has nothing of it, a sentence says what to do.
export TS_GRTRACE_FOLDER=none
grtrace status || echo "exit $?"
tsrecord --kernel true || echo "exit $?"
make_trace whole t.sbt
grtrace report t.sbt || echo "exit $?"
grtrace report || echo "exit $?"
grtrace dance || echo "exit $?"
