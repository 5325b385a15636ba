# SPDX-License-Identifier: Apache-2.0
# Structured values: lists are shortened, a list alone has no braces, host pointers are shown.
make_trace structs t.sbt
tsview t.sbt
