# SPDX-License-Identifier: Apache-2.0
# A tracer's own clock, which is ahead and fast, is brought back by marks, or by hand; what was lost
# makes times NA and is said; disorder is mended.
make() { python3 "$TESTS/cpu_files.py" "$@"; }
merge() { tracesmith merge "$@" 2> said || echo "exit $?"; grep -v 'this report took' said >&2 || true; }
python3 "$TESTS/kernel_records.py" > records
make_trace kernel t.sbt records
for form in text dat6 dat7; do
    make $form local > cpu
    merge --list t.sbt cpu | grep -E 'CPU events|ctx 5 #1|ctx 5 #2'
done
make perf local > cpu
merge t.sbt cpu
merge --offset=-5s t.sbt cpu > report
head -2 report
merge --clock=mono t.sbt cpu > report
head -2 report
for form in text dat6 dat7 dat7z perf; do
    make $form lost > cpu
    merge --list t.sbt cpu | grep -E 'CPU events|ctx 5 #1|ctx 5 #2'
done
make text disorder > cpu
merge --list t.sbt cpu | grep -E 'CPU events|ctx 5 #1'
