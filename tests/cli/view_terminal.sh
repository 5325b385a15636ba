# SPDX-License-Identifier: Apache-2.0
# On a terminal lines are cut to its width, and coloured.
command -v script > /dev/null || exit 77
make_trace whole t.sbt
TERM=xterm script -qec 'stty cols 70; tsview --failed --range=0:100 t.sbt; tsview -n5 t.sbt' log > out
tr -d '\r' < out | sed 's/\x1b/ESC/g'
