# SPDX-License-Identifier: Apache-2.0
# What makes a trace less than complete.
for scene in whole lossy torn; do
    make_trace $scene t.sbt
    tracesmith info -q t.sbt | grep state
done
