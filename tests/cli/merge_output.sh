# SPDX-License-Identifier: Apache-2.0
# A trace with both needs the other file no more; filters leave the rest out, and say so.
make() { python3 "$TESTS/cpu_files.py" "$@"; }
merge() { tracesmith merge "$@" 2> said || echo "exit $?"; grep -v 'this report took' said >&2 || true; }
python3 "$TESTS/kernel_records.py" > records
make_trace kernel t.sbt records
make dat7 lost > cpu
merge -o both.sbt t.sbt cpu
tracesmith check both.sbt
merge --list t.sbt cpu | grep -v 'CPU events' > expected
merge --list both.sbt | grep -v 'CPU events' | diff expected - && echo "the same"
merge both.sbt | grep 'CPU events'
tsview --kernel both.sbt | grep -A3 'CPU_SWITCH\|CPU_IRQ'
merge -o cpu t.sbt cpu
make perf > cpu
merge --list --pid=77 t.sbt cpu | grep -c 'ctx'
merge --list --tid=4711 t.sbt cpu | grep -c toy
merge --list --device=toygpu --since=1050us --until=2ms t.sbt cpu | grep ctx
merge --list --device=othergpu t.sbt cpu | grep requests
merge --cgroup=5 t.sbt cpu
merge -o part.sbt --pid=77 t.sbt cpu
merge --list part.sbt | grep -E 'CPU events|ctx 5 #1'
