# SPDX-License-Identifier: Apache-2.0
# Sizes depend on the compressor's version; the rest does not.
make_trace whole t.sbt
tracesmith info --calls t.sbt
