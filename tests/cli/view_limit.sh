# SPDX-License-Identifier: Apache-2.0
make_trace whole t.sbt
tsview -n 2 t.sbt
tsview t.sbt --limit=1
