# SPDX-License-Identifier: Apache-2.0
# The table of this build: sums are of what is listed, filters filter, unknown APIs are refused.
tracesmith coverage --api=cuda > all
tail -n 1 all | sed 's/[0-9][0-9]*/N/g'
tracesmith coverage --calls=cuInit
tracesmith coverage --json --calls=cuInit
tracesmith coverage --api=toy || echo "exit $?"
test "$(grep -c '^unmodelled' all)" = "$(tracesmith coverage -a cuda -s unmodelled | grep -c '^unmodelled')"
# What the software GPU lacks: a call that is listed says so when it is made, so the list is the
# library's own (tests/emu/emu_support_test.py); here only its form.
tracesmith coverage --emu | tail -n 1 | sed 's/[0-9][0-9]*/N/g'
test "$(tracesmith coverage --emu | grep -c '^cu')" = \
  "$(tracesmith coverage --emu --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["emu_missing"]))')"
