# SPDX-License-Identifier: Apache-2.0
# The table of this build: sums are of what is listed, filters filter, unknown APIs are refused.
tracesmith coverage --api=cuda > all
tail -n 1 all | sed 's/[0-9][0-9]*/N/g'
tracesmith coverage --calls=cuInit
tracesmith coverage --json --calls=cuInit
tracesmith coverage --api=toy || echo "exit $?"
test "$(grep -c '^unmodelled' all)" = "$(tracesmith coverage -a cuda -s unmodelled | grep -c '^unmodelled')"
