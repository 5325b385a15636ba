# SPDX-License-Identifier: Apache-2.0
# Ring jobs go to the ioctl that made them, by the number that it returned or by its thread, and what is
# left to the call around it; tsview joins them alike.
python3 "$TESTS/kernel_records.py" ioctls > records
make_trace ioctls t.sbt records
tracesmith merge -q --list t.sbt | tail -n +16
tsview -q --kernel t.sbt | grep -A1 TOY_SUBMIT
