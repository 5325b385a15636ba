# SPDX-License-Identifier: Apache-2.0
# Every kind of value, from the trace's own schemas.
make_trace whole t.sbt
tsview t.sbt
