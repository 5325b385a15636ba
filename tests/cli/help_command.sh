# SPDX-License-Identifier: Apache-2.0
# --help and `help COMMAND` are the same text.
tsview --help > a
tracesmith help view > b
cmp a b
cat a
