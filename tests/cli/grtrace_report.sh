# SPDX-License-Identifier: Apache-2.0
# A session of the module that was kept: what can be said of it without module or kernel.
python3 "$TESTS/kernel_records.py" > records
make_trace kernel t.sbt records
tracesmith check t.sbt
grtrace report t.sbt
grtrace report --format=csv t.sbt
grtrace report --format=json --top=1 --span=t_exec t.sbt
grtrace report --by=ring --format=csv t.sbt
grtrace report --by=engine t.sbt
grtrace report --by=context --format=json t.sbt
grtrace report --histogram --span=t_queue t.sbt
grtrace report --overhead t.sbt
grtrace report --since=0.002 --limit=1 --format=csv t.sbt
tsview --kernel t.sbt
tsview --kernel --json --limit=1 t.sbt | tail -n +3 | head -3
tracesmith stats --section=rings t.sbt
tracesmith stats --section=rings --csv t.sbt
