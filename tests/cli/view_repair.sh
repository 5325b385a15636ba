# SPDX-License-Identifier: Apache-2.0
# After a repair there is nothing left to say; a second one changes nothing.
make_trace torn t.sbt
head -c 100 /dev/urandom >> t.sbt
tsview --repair t.sbt
tsview t.sbt | wc -l
tsview --repair t.sbt
