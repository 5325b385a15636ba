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

# ---- beside a program's own records
tsrecord --kernel --emu -o b.sbt -- /test/tests/kernel/two_gpus 2> said; ok $? "tsrecord --kernel"
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
