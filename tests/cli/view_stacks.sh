# SPDX-License-Identifier: Apache-2.0
# Stacks are symbolised as far as the program's files are there.
make_trace whole t.sbt
tsview --stacks --range=4:6 t.sbt
