# SPDX-License-Identifier: Apache-2.0
# A trace without its end is shown as far as it goes, with a note on stderr; -q hides the note.
make_trace torn t.sbt
tsview t.sbt | wc -l
tsview -q t.sbt | wc -l
