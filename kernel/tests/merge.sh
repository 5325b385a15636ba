# SPDX-License-Identifier: GPL-2.0
# GPU jobs and what the CPUs did meanwhile, on one time line: by trace-cmd, ftrace's own files, and our
# collector, beside the module's records of the mock driver's jobs.
. "$(dirname "$0")/tap.sh"
cd /tmp
for name in tsrecord tsview tracesmith; do ln -s /test/tools/tracesmith $name; done
ln -s /test/trace-cmd trace-cmd
PATH=$PATH:/tmp
export LD_LIBRARY_PATH=/test/emu
tracing=/sys/kernel/tracing
events='-e sched_switch -e sched_wakeup -e irq_handler_entry -e irq_handler_exit -e block_rq_issue -e block_rq_complete'
pattern='sched_switch|sched_wakeup|irq_handler_entry|irq_handler_exit|block_rq_issue|block_rq_complete'
known() { sed -n "s/^$1 *\([0-9]*\) .*/\1/p" "$2"; } # STAGE REPORT
field() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$2" | head -1; }

# Who submits a job runs on that CPU then: by the module's clock and by the tracer's. How many do not.
strays() { # TRACE
    tsview --kernel "$1" | awk '$1 != "k" { next }
        $6 == "CPU_SWITCH" { sub("#", "", $10); runs[$2] = $10 % 4294967296; next }
        $6 == "SUBMIT" && ($2 in runs) { seen++; if (runs[$2] != $5) strays++ }
        END { if (seen < 20) print "too few"; else print strays + 0 }'
}
check_report() { # REPORT WHAT
    [ "$(field 'requests: [0-9]* commands,' "$1")" = 32 ]; ok $? "$2: all 32 jobs"
    [ "$(known exec "$1")" = 32 ] && [ "$(known queue "$1")" = 32 ]; ok $? "$2: time in queue and on rings"
    [ "$(known off_cpu "$1")" = 34 ] && [ "$(known irq "$1")" = 34 ]; ok $? "$2: where the thread was, for each"
    grep -q 'lost 0, put in order [0-9]*, unread 0' "$1"; ok $? "$2: nothing lost, all read"
}

# ---- trace-cmd
# What comes from the serial line interrupts.
trace-cmd record -C mono $events -o cpu.dat sh -c "echo '# on the line' > /dev/ttyS0; exec tsrecord --kernel --emu -o a.sbt -- /test/kernel/tests/two_gpus" > said 2>&1
ok $? "trace-cmd record tsrecord --kernel"
tracesmith merge --quiet a.sbt cpu.dat > report; ok $? "tracesmith merge"
sed 's/^/# /' report
check_report report trace-cmd
[ "$(trace-cmd report cpu.dat 2> /dev/null | grep -cE " ($pattern):")" = "$(sed -n 's/ CPU events.*//p' report)" ]
ok $? "as many events as trace-cmd itself sees"
grep -q '^on CPUs meanwhile: .* 0.000 ms' report; [ $? = 1 ]; ok $? "what the collectors cost is told"
tracesmith merge --quiet -o both.sbt a.sbt cpu.dat; ok $? "merge -o"
tracesmith check both.sbt > /dev/null; ok $? "a sound trace"
tracesmith merge --quiet both.sbt > again; sed -n '/^stage/,$p' report > x; sed -n '/^stage/,$p' again | cmp -s x -
ok $? "which gives the same report"
[ "$(strays both.sbt)" = 0 ]; ok $? "both clocks agree about who ran: $(strays both.sbt)"
tracesmith merge --quiet --json --list a.sbt cpu.dat | grep -q '"ring":"gfx0"'; ok $? "JSON"
tracesmith merge --quiet --perfetto=p.json a.sbt cpu.dat && grep -q '"name":"CPU 1"' p.json && grep -q '"name":"gfx0"' p.json
ok $? "Perfetto"
tracesmith merge --quiet --above=1us a.sbt cpu.dat | grep -q 'us  cpu[01]   switch'; ok $? "detail"
trace-cmd report cpu.dat > text 2> /dev/null
tracesmith merge --quiet a.sbt text > report.text
# Text has microseconds only.
[ "$(sed -n 's/ CPU events.*//p' report.text)" = "$(sed -n 's/ CPU events.*//p' report)" ]; ok $? "its text says the same"

# ---- the tracer's own file, with a clock of its own
echo local > $tracing/trace_clock
for event in sched/sched_switch sched/sched_wakeup irq/irq_handler_entry irq/irq_handler_exit; do
    echo 1 > $tracing/events/$event/enable
done
echo 1 > $tracing/tracing_on
tracesmith merge --quiet --mark; ok $? "merge --mark"
echo '# on the line' > /dev/ttyS0
tsrecord --kernel --emu -o b.sbt -- /test/kernel/tests/two_gpus 2> said
tracesmith merge --quiet --mark
echo 0 > $tracing/tracing_on
cat $tracing/trace > text
echo 0 > $tracing/events/enable
tracesmith merge --quiet b.sbt text > report; ok $? "ftrace's text"
check_report report "clock local"
tracesmith merge --quiet -o marked.sbt b.sbt text
strays=$(strays marked.sbt)
grep 'CPU events' report | sed 's/^/# /'
[ "$strays" -le 3 ]; ok $? "marks align its clock well enough to see who ran: $strays strays"

# ---- our collector
tsrecord --kernel --cpu --emu -o c.sbt -- /test/kernel/tests/two_gpus 2> said; ok $? "tsrecord --kernel --cpu"
sed 's/^/# /' said
[ "$(ls c.sbt* | wc -l)" = 1 ]; ok $? "leaves one file"
tracesmith check c.sbt > /dev/null; ok $? "which is sound"
tracesmith merge --quiet c.sbt > report
sed 's/^/# /' report
check_report report eBPF
[ "$(strays c.sbt)" = 0 ]; ok $? "both clocks agree about who ran: $(strays c.sbt)"
grep -q '^collector: [0-9]* events, 0 lost' report; ok $? "what it cost is told"
mkdir groups && mount -t cgroup2 none groups && mkdir groups/app
tsrecord --kernel --cpu=cgroup=/tmp/groups/app --emu -o d.sbt -- sh -c 'echo $$ > groups/app/cgroup.procs; exec /test/kernel/tests/two_gpus' 2> said
tracesmith merge --quiet --cgroup=/tmp/groups/app d.sbt > report; ok $? "a cgroup alone"
sed 's/^/# /' report
[ "$(field 'requests: [0-9]* commands,' report)" = 32 ]; ok $? "its jobs"
all=$(tracesmith merge --quiet c.sbt | sed -n 's/ CPU events.*//p') some=$(sed -n 's/ CPU events.*//p' report)
[ "$some" -gt 20 ] && [ "$some" -lt "$all" ] && grep -q 'left out on request' report; ok $? "filters in the kernel: $some of $all"
grep -q ' 0 left out in the kernel' report; [ $? = 1 ]; ok $? "which are counted"
tsrecord --cpu=nonsense true 2> said; [ $? = 125 ]; ok $? "nonsense is refused"
echo "1..$count"
exit $failed
