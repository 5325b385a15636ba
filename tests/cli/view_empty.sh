# SPDX-License-Identifier: Apache-2.0
# A selection without records is no error.
make_trace whole t.sbt
tsview --range=1000: t.sbt
