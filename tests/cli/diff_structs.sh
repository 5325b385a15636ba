# SPDX-License-Identifier: Apache-2.0
# The path of the first difference within a value; host pointers do not count.
make_trace structs a.sbt
make_trace structs_other b.sbt
tsdiff a.sbt b.sbt
