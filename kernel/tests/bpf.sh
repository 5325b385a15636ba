# SPDX-License-Identifier: GPL-2.0
# The eBPF backend beside the module: the same jobs of the mock driver, in the same order, paired in
# the same way; losses counted; filters and limits; drivers that come later; refusals.
. "$(dirname "$0")/tap.sh"
cd /tmp
for name in grtrace tsrecord tracesmith; do ln -s /test/tools/tracesmith $name; done
PATH=$PATH:/tmp
number() { sed -n "s/^$1 //p" "$2"; }
pins=/sys/fs/bpf/grtrace

# ---- refusals
grtrace status --backend=bpf 2> said; [ $? = 2 ]; ok $? "without its file system it does not begin"
grep -q 'mount -t bpf bpf' said; ok $? "and says what to do"
mount -t bpf bpf /sys/fs/bpf
grtrace list --backend=bpf > list; ok $? "grtrace list"
grep -q '^probe drm_run_job gpu_sched verified detached' list; ok $? "names the tracepoints, compared with BTF"
grtrace config --backend=bpf sample=0 2> said; [ $? = 2 ]; ok $? "a bad setting is refused"
grtrace config --backend=bpf level=1 nonsense=1 2> said; [ $? = 2 ]; ok $? "an unknown one, too"
grtrace config --backend=bpf | grep -q '^level 2'; ok $? "and nothing was changed"
grtrace config --backend=bpf overwrite=1 2> said; [ $? = 2 ]; ok $? "overwrite is the module's alone"

# ---- beside the module
grtrace record --backend=module -o module.sbt 2> said.module &
module=$!
grtrace record --backend=bpf -o bpf.sbt 2> said.bpf &
bpf=$!
until grep -q running /sys/kernel/debug/grtrace/control && [ -e $pins/link_dma_fence_wait_end ]; do sleep 0.2; done
grtrace list --backend=bpf > list
grep -q '^probe drm_run_job gpu_sched verified attached' list; ok $? "list shows attachments while it records"
grep -q refused list; [ $? = 1 ]; ok $? "and none is refused by the verifier"
grtrace start --backend=bpf 2> said; [ $? = 2 ]; ok $? "a second session is refused"
/test/test_traffic 0 > /dev/null
kill -TERM $bpf
wait $bpf; ok $? "grtrace record --backend=bpf"
kill -TERM $module
wait $module; ok $? "grtrace record beside it"
cat said.bpf said.module | sed 's/^/# /'
tracesmith check bpf.sbt > /dev/null; ok $? "its trace is sound"
tracesmith info bpf.sbt | grep -q bpf; ok $? "and says who recorded it"
for name in module bpf; do grtrace report --format=csv $name.sbt > $name.csv; done
[ "$(wc -l < bpf.csv)" = 33 ]; ok $? "all 32 jobs are in it"
[ "$(cut -d, -f10-17,19 bpf.csv | grep -c NA)" = 0 ]; ok $? "with all their times, but that nobody waited"
# Keys, rings, engines, owners, errors; times and the labels made of them are each program's own.
for name in module bpf; do cut -d, -f1-8 $name.csv > $name.keys; done
cmp module.keys bpf.keys; ok $? "the same jobs in the same order as the module's"
diff module.keys bpf.keys | head -20 | sed 's/^/# /'

# ---- what is kept and what is left out, jobs that hang, are preempted, wait: by the module's own tests
export GRTRACE_BACKEND=bpf
for program in test_config test_limits test_jobs; do
    /test/$program > said; ok $? "$program"
    sed 's/^[^#]/#   &/' said
done

echo "1..$count"
exit $failed
