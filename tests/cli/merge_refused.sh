# SPDX-License-Identifier: Apache-2.0
# Files that are cut off, nonsense, or of something else: one sentence, and no crash.
make() { python3 "$TESTS/cpu_files.py" "$@"; }
merge() { tracesmith merge "$@" 2> said || echo "exit $?"; grep -v 'this report took' said >&2 || true; }
make_trace whole t.sbt
for form in dat6 dat7 dat7z perf; do
    make $form > whole
    for size in 9 40 300 1000 2000 5000; do
        head -c $size whole > $form.$size
        merge --quiet t.sbt $form.$size > report
        head -1 report
    done
done
head -c 600 /dev/zero | tr '\0' x > nonsense
merge t.sbt nonsense
: > empty
merge t.sbt empty
merge t.sbt missing
merge t.sbt .
merge nonsense t.sbt
merge
merge --above=fast t.sbt
merge t.sbt > report
head -2 report
