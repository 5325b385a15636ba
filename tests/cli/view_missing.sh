# SPDX-License-Identifier: Apache-2.0
# Neither a missing file nor one that is no trace crashes.
tsview nothing.sbt || echo "exit $?"
echo "this is no trace, but text that is long enough to be one, if anybody asked for its length" > x
tsview x || echo "exit $?"
tsview . || echo "exit $?"
