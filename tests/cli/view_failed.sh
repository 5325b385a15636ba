# SPDX-License-Identifier: Apache-2.0
make_trace whole t.sbt
tsview --failed t.sbt
