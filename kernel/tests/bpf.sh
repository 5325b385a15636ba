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

# ---- loss: a full buffer
grtrace start --backend=bpf level=3 subbuf_size=4096 subbuf_count=2; ok $? "start, with a small buffer"
/test/test_traffic 0 > /dev/null
/test/test_traffic 0 > /dev/null
grtrace stop --backend=bpf; ok $? "stop"
grtrace status --backend=bpf > stats; ok $? "status"
sed 's/^/# /' stats | head -16
lost=$(number short_write stats)
[ "$lost" -gt 0 ] && [ "$lost" = "$(number lost stats)" ]; ok $? "$lost records were lost for want of room"
written=$(number written stats)
[ "$written" = "$(number gseq stats)" ]; ok $? "gseq counts the $written that were written"
grtrace config --backend=bpf level=2 subbuf_size=65536 subbuf_count=16

# ---- what is left out
session() { # SETTING...: one session with 32 jobs; its counters
    grtrace start --backend=bpf "$@" && /test/test_traffic 0 > /dev/null
    grtrace stop --backend=bpf
    grtrace status --backend=bpf > stats
}
session filter_type_mask=0x10; ok $? "a session with a filter"
[ "$(number SUBMIT stats)" = 32 ] && [ "$(number COMPLETE stats)" = 0 ]; ok $? "only SUBMIT passes"
[ "$(number filtered stats)" -gt 0 ] && [ "$(number lost stats)" = 0 ]; ok $? "what is filtered is no loss"
session filter_type_mask=0xffffffffffffffff sample=2; ok $? "a session with sampling"
[ "$(number SUBMIT stats)" = 16 ] && [ "$(number COMPLETE stats)" = 16 ]; ok $? "half of the jobs are kept, whole"
for mode in window token_bucket; do
    session sample=1 rate_limiter_mode=$mode max_events_per_sec=10; ok $? "a session with a limit, $mode"
    limited=$(number rate_limited stats)
    [ "$limited" -gt 0 ] && [ "$(number lost stats)" = "$limited" ]; ok $? "$limited records over it are a loss"
done
grtrace config --backend=bpf max_events_per_sec=0 rate_limiter_mode=window

echo "1..$count"
exit $failed
