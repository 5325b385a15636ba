# SPDX-License-Identifier: Apache-2.0
# A reader that has enough ends the program without a word; a full disk does not go unnoticed.
make_trace many t.sbt 50000
tsview t.sbt | head -n 1
tsview t.sbt > /dev/full || echo "exit $?"
