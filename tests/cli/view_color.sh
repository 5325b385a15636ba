# SPDX-License-Identifier: Apache-2.0
# NO_COLOR and --color; without a terminal there is none.
make_trace whole t.sbt
tsview -f t.sbt | od -c | grep -c 033 || true
tsview -f --color=always t.sbt | od -c | grep -c 033
NO_COLOR=1 tsview -f t.sbt | od -c | grep -c 033 || true
NO_COLOR=1 tsview -f --color=always t.sbt | od -c | grep -c 033
