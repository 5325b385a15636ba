# SPDX-License-Identifier: Apache-2.0
# Options are exact; what is wrong with one is said in one line.
for words in --stack --limt=3 -Z --limit --limit=x --limit=-1 --color=blue --stacks=1 --range=5 \
    --range=7:7 --streams=1, --streams=a '--range 1s:1ms' --range=frames:0:5 --range=submits:7:7 --range=label:; do
    tsview $words t.sbt || echo "exit $?"
done
tsview || echo "exit $?"
tsview a.sbt b.sbt || echo "exit $?"
for number in 1000000001 18446744074 18446744073709551615 -1 1e3 ''; do
    tsreplay --timeout "$number" t.sbt || echo "exit $?"
    tracesmith trim --timeout="$number" t.sbt || echo "exit $?"
    tracesmith ctl --wait="$number" status 1 || echo "exit $?"
done
tsreplay --order=permuted:99999999999999999999 t.sbt || echo "exit $?"
for words in 'redact -o -' 'trim -o-' 'merge --output=-' 'shaders -o -' 'ioctls -o -' 'grtrace -o - record' 'record -o -'; do
    tracesmith $words t.sbt || echo "exit $?"
done
tracesmith redact -o ./- t.sbt || echo "exit $?"
[ ! -e - ] || echo "a file of that name"
