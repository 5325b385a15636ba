# SPDX-License-Identifier: Apache-2.0
# Half open, by sequence number or by time, which may be mixed.
make_trace whole t.sbt
tsview --range=2:4 t.sbt
echo
tsview --range=7: t.sbt
echo
tsview --range=:1 t.sbt
echo
tsview --range=1.0075ms:1.009ms t.sbt
echo
tsview -r 1s: t.sbt
