# SPDX-License-Identifier: Apache-2.0
make_trace whole t.sbt
tsview --streams=1 t.sbt
echo
tsview --streams=0-1 t.sbt
echo
tsview --streams none,0 t.sbt
