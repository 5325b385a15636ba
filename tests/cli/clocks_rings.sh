# SPDX-License-Identifier: Apache-2.0
# The kernel's ring events have a clock for each device, which the submits of their jobs bound; where no submit is found it
# has no bounds.
python3 "$TESTS/kernel_records.py" ioctls > records
make_trace ioctls t.sbt records
tracesmith clocks -q t.sbt
tracesmith clocks -q --json t.sbt
python3 "$TESTS/kernel_records.py" joined > records
make_trace kernel k.sbt records
tracesmith clocks -q k.sbt
