# SPDX-License-Identifier: Apache-2.0
# What selects nothing says so; a stream that the trace does not have is an error.
make_trace whole t.sbt
tsview t.sbt | awk '{print $3}' | sort | uniq -c | awk '{print $2, $1}'
for words in --streams=77 --streams=0,77 --streams=0-77 --streams=70-77 --streams=none --range=5000: '--calls=cuZ*' \
    --range=5000s: "--range=5000: --json"; do
    echo "== $words"
    tsview $words t.sbt >out || echo "exit $?"
    wc -l <out
done
tracesmith info --calls --streams=77 t.sbt >out || echo "exit $?"
for words in --streams=77 --range=5000:; do
    tsreplay --dry-run $words t.sbt >out || echo "exit $?"
done
