# SPDX-License-Identifier: Apache-2.0
# --calls takes a pattern; functions made by records that are not shown keep their names.
make_trace whole t.sbt
tsview --calls 'toyL*' t.sbt
