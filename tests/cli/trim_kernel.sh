# SPDX-License-Identifier: Apache-2.0
# Of what the kernel saw, the time of the part stays, with a margin of 10 ms, and its names; what is left
# out does not look lost. The kernel's records are drawn out to 20 ms for it.
python3 "$TESTS/kernel_records.py" 8000 > records
make_trace kernel t.sbt records
tracesmith trim --range 0:5 -o part.sbt t.sbt > told
tracesmith check part.sbt
grtrace report part.sbt
tracesmith trim --whole --range 0:5 -o whole.sbt t.sbt > told
tsview --kernel t.sbt > t.text
tsview --kernel whole.sbt > whole.text
cmp t.text whole.text && wc -l < whole.text
tsview --kernel part.sbt | wc -l
