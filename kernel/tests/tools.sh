# SPDX-License-Identifier: GPL-2.0
# What user space makes of the module's records: grtrace, tsrecord --kernel, tsview --kernel.
. "$(dirname "$0")/tap.sh"
cd /tmp
for name in grtrace tsrecord tsview; do ln -s /test/tools/tracesmith $name; done
PATH=$PATH:/tmp
export LD_LIBRARY_PATH=/test/emu

grtrace list > list; ok $? "grtrace list"
grep -q '^probe drm_run_job gpu_sched verified' list; ok $? "names the tracepoints"
grtrace config sample=0 2> refused; [ $? = 2 ]; ok $? "a bad setting is refused"
grep -q "no such value: 'sample=0'" refused; ok $? "with a sentence"
umount /sys/kernel/debug
grtrace --backend=module status 2> refused
grep -q 'the module is loaded, but debugfs is not mounted' refused; ok $? "files that are not mounted are told"
mount -t debugfs debugfs /sys/kernel/debug
grtrace config level=2 sample=1; ok $? "good ones are taken"

# ---- record, report
grtrace record -o a.sbt 2> said &
recorder=$!
until grep -q running /sys/kernel/debug/grtrace/control; do sleep 0.1; done
/test/test_traffic 0 > /dev/null
kill -TERM $recorder
wait $recorder
ok $? "grtrace record"
tracesmith=/test/tools/tracesmith
$tracesmith check a.sbt > /dev/null; ok $? "its trace is sound"
grtrace report --format=csv a.sbt > jobs.csv; ok $? "grtrace report"
[ "$(wc -l < jobs.csv)" = 33 ]; ok $? "has a line for each of 32 jobs"
[ "$(cut -d, -f10-17,19 jobs.csv | grep -c NA)" = 0 ]; ok $? "all times are there, but that nobody waited"
[ "$(grep -c ',gfx0,render,' jobs.csv)" = 8 ]; ok $? "with names of rings and engines"
grtrace report --by=ring --format=csv a.sbt > rings.csv
grep -q '^dma0,8,0,0,' rings.csv; ok $? "sums for each ring"
[ "$(grtrace report --top=5 --span=t_exec --format=csv a.sbt | sed 1d | cut -d, -f17 | sort -rnc 2>&1; echo $?)" = 0 ]
ok $? "the longest first"
[ "$(grtrace report --limit=3 --format=csv a.sbt | wc -l)" = 4 ]; ok $? "--limit"
[ "$(grtrace report --since=100 --format=csv a.sbt | wc -l)" = 1 ]; ok $? "--since"
[ "$(grtrace report --histogram --span=t_exec a.sbt | sed 1d | cut -d, -f5 | paste -sd+ | bc)" = 32 ]
ok $? "histograms hold all jobs"
grtrace report --overhead a.sbt > overhead; grep -q '^lost 0$' overhead && grep -q '^write_ns' overhead
ok $? "the overhead is told"
grtrace report --format=json a.sbt | grep -q '"schema":"grtrace-jobs/1"'; ok $? "JSON"

# ---- a flood, a recorder that is killed, CPUs that come in any order
grtrace config subbuf_size=4096 subbuf_count=4
grtrace record -o flood.sbt 2> said &
recorder=$!
until grep -q running /sys/kernel/debug/grtrace/control; do sleep 0.1; done
for i in 1 2 3 4 5 6 7 8 9 10; do echo 'type=12 count=5000' > /sys/kernel/debug/grtrace/emit; done
kill -TERM $recorder
wait $recorder
ok $? "a flood is recorded"
number() { sed -n "s/^$1 //p" "$2"; }
cat /sys/kernel/debug/grtrace/stats > stats
grtrace report --overhead flood.sbt > overhead
echo "# written $(number written stats), lost $(number lost stats), in the trace $(number records overhead)"
[ "$(($(number written stats) + $(number lost stats)))" -ge 50000 ]; ok $? "all was written or lost"
[ "$(number written stats)" = "$(number records overhead)" ]; ok $? "what was written is in the trace"
[ "$(number lost stats)" = "$(number lost overhead | head -1)" ]; ok $? "and what was lost is told"
grtrace config subbuf_size=65536 subbuf_count=16
grtrace record -o killed.sbt 2> said &
recorder=$!
until grep -q running /sys/kernel/debug/grtrace/control; do sleep 0.1; done
rmmod grtrace 2> /dev/null; [ $? != 0 ]; ok $? "the module stays while it is recorded"
kill -KILL $recorder
wait $recorder 2> /dev/null
grep -q stopped /sys/kernel/debug/grtrace/control; ok $? "a killed recorder leaves no session behind"
tsview --kernel killed.sbt > /dev/null 2> said; ok $? "its trace can be read"
echo 0 > /sys/devices/system/cpu/cpu1/online
echo 0 > /sys/devices/system/cpu/cpu2/online
grtrace record -o late.sbt 2> said &
recorder=$!
until grep -q running /sys/kernel/debug/grtrace/control; do sleep 0.1; done
echo 1 > /sys/devices/system/cpu/cpu2/online
taskset 4 sh -c "echo 'type=12 ctx=77 count=5' > /sys/kernel/debug/grtrace/emit"
kill -TERM $recorder
wait $recorder
[ "$(tsview --kernel late.sbt | grep -c 'ctx=77\|ctx 77')" = 5 ]; ok $? "a CPU that comes out of order is read"
echo 1 > /sys/devices/system/cpu/cpu1/online

# ---- beside a program's own records
tsrecord --kernel --emu -o b.sbt -- /test/kernel/tests/two_gpus 2> said; ok $? "tsrecord --kernel"
cat said | sed 's/^/# /'
[ "$(ls b.sbt* | wc -l)" = 1 ]; ok $? "leaves one file"
$tracesmith check b.sbt > /dev/null; ok $? "which is sound"
[ "$(grtrace report --format=csv b.sbt | wc -l)" = 33 ]; ok $? "with the jobs of all rings"
tsview --kernel b.sbt > view; ok $? "tsview --kernel"
# Jobs ran between the two copies: so their records lie between those of the copies.
copies=$(grep -n cuMemcpyHtoD view | cut -d: -f1 | paste -sd' ')
first=$(grep -n ' SUBMIT ' view | head -1 | cut -d: -f1)
last=$(grep -n ' COMPLETE ' view | tail -1 | cut -d: -f1)
[ "${copies% *}" -lt "$first" ] && [ "$last" -lt "${copies#* }" ]; ok $? "on one time line: $copies, $first to $last"
tsview b.sbt | grep -q SUBMIT; [ $? = 1 ]; ok $? "and not without --kernel"
rmmod grtrace
tsrecord --kernel /bin/busybox true 2> said; [ $? = 125 ]; ok $? "without the module it does not begin"
grep -q 'modprobe grtrace' said; ok $? "and says what to do"
echo "1..$count"
exit $failed
