# SPDX-License-Identifier: Apache-2.0
# The same CPU events, as each tracer keeps them, beside the same jobs: the same answer.
make() { python3 "$TESTS/cpu_files.py" "$@"; }
merge() { tracesmith merge "$@" 2> said || echo "exit $?"; grep -v 'this report took' said >&2 || true; }
python3 "$TESTS/kernel_records.py" > records
make_trace kernel t.sbt records
make text > text
merge --list t.sbt text > expected
cat expected
for form in report script dat6 dat7 dat7z perf; do
    make $form > cpu
    merge --list t.sbt cpu | sed 's/of clock mono/of clock (not told)/' | diff expected - && echo "$form: the same"
done
make perf > cpu
merge --above=1ms t.sbt cpu | tail -n +17
merge --json --above=1ms t.sbt cpu
merge --perfetto=- t.sbt cpu
