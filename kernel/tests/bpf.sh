# SPDX-License-Identifier: GPL-2.0
# The eBPF backend beside the module: the same jobs of the mock driver, in the same order, paired in
# the same way; losses counted; filters and limits; drivers that come later; refusals.
. "$(dirname "$0")/tap.sh"
cd /tmp
for name in grtrace tsrecord tracesmith; do ln -s /test/tools/tracesmith $name; done
PATH=$PATH:/tmp
number() { sed -n "s/^$1 //p" "$2"; }
pins=/sys/fs/bpf/grtrace

# A program that an interrupt finds running on its CPU is not run again: such a loss is told, and no mistake.
# A scene that misses something is played again then.
tell_missed() { grtrace status --backend=bpf | sed -n 's/^missed [1-9]/# &/p'; }
steadily() {
    local count_before=$count failed_before=$failed try
    for try in 1 2 3 4 5; do
        count=$count_before failed=0
        rm -f ./*.sbt*
        "$@" > scene
        if [ $failed = 0 ] || ! grep -q '^# missed' scene; then break; fi
        sed 's/^/# again: /' scene
    done
    cat scene
    [ $failed = 1 ] || failed=$failed_before
}

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

# ---- a recorder that is killed
grtrace record --backend=bpf -o killed.sbt 2> said &
recorder=$!
until [ -e $pins/link_dma_fence_wait_end ] || ! kill -0 $recorder; do sleep 0.2; done
kill -KILL $recorder
wait $recorder 2> /dev/null
grtrace record --backend=bpf -s 0.1 -o next.sbt 2> said; ok $? "its session does not keep the next one from beginning"

# ---- beside the module
beside() {
    grtrace record --backend=module -o module.sbt 2> said.module &
    module=$!
    grtrace record --backend=bpf -o bpf.sbt 2> said.bpf &
    bpf=$!
    until grep -q running /sys/kernel/debug/grtrace/control && [ -e $pins/link_dma_fence_wait_end ] || ! kill -0 $module; do sleep 0.2; done
    grtrace list --backend=bpf > list
    grep -q '^probe drm_run_job gpu_sched verified attached' list; ok $? "list shows attachments while it records"
    grep ' detached' list | grep -v ' dma_fence_e' > others; [ $? = 1 ]; ok $? "the verifier takes all of this level"
    sed 's/^/# /' others
    grtrace start --backend=bpf 2> said; [ $? = 2 ]; ok $? "a second session is refused"
    /test/test_traffic 0 > /dev/null
    kill -TERM $bpf
    wait $bpf; ok $? "grtrace record --backend=bpf"
    kill -TERM $module
    wait $module; ok $? "grtrace record beside it"
    cat said.bpf said.module | sed 's/^/# /'
    tell_missed
    tracesmith check bpf.sbt > /dev/null; ok $? "its trace is sound"
    tracesmith info bpf.sbt | grep -q bpf; ok $? "and says who recorded it"
    for name in module bpf; do grtrace report --format=csv $name.sbt > $name.csv; done
    [ "$(wc -l < bpf.csv)" = 33 ]; ok $? "all 32 jobs are in it"
    [ "$(cut -d, -f10-17,19 bpf.csv | grep -c NA)" = 0 ]; ok $? "with all their times, but that nobody waited"
    # Keys, rings, engines, owners, errors; times and the labels made of them are each program's own.
    for name in module bpf; do cut -d, -f1-8 $name.csv > $name.keys; done
    cmp module.keys bpf.keys; ok $? "the same jobs in the same order as the module's"
    diff module.keys bpf.keys | head -20 | sed 's/^/# /'
}
steadily beside

# ---- what is kept and what is left out, jobs that hang, are preempted, wait: by the module's own tests
export GRTRACE_BACKEND=bpf
program() {
    /test/$1 > said; ok $? "$1"
    sed 's/^[^#]/#   &/' said
}
for program in test_config test_limits test_jobs; do steadily program $program; done

# ---- what is lost without a number: programs that an interrupt found running on their CPU
dmesg -c > /dev/null
grtrace start --backend=bpf level=3 subbuf_size=1048576 subbuf_count=4; ok $? "start, with a large buffer"
taskset 1 insmod /test/grtrace_nested.ko
reached=$(dmesg | sed -n 's/.*grtrace_nested: //p')
grtrace stop --backend=bpf
grtrace status --backend=bpf > stats
missed=$(number missed stats)
[ "$missed" -gt 0 ] && [ "$(number lost stats)" = "$missed" ]; ok $? "$missed of $reached are missed, which is a loss"
# One fence more than those: its own being made.
[ "$(($(number FENCE stats) + missed))" = "$((reached + 1))" ]; ok $? "all are accounted for: $(number FENCE stats) are written"
grtrace config --backend=bpf level=2 subbuf_size=65536 subbuf_count=16

# ---- a collector beside it: what was lost behind the last record is told, too
grtrace record --backend=bpf -o lost.sbt backpressure_threshold=1 2> said &
recorder=$!
until [ -e $pins/link_module_free ]; do sleep 0.2; done
grtrace emit --backend=bpf type=12 count=100000
kill -TERM $recorder
wait $recorder; ok $? "more is emitted than is collected"
sed 's/^/# /' said
lost=$(grtrace report --format=json lost.sbt 2> /dev/null | grep -o '"lost":[0-9]*')
[ "${lost#*:}" -gt 0 ] && grtrace report --overhead lost.sbt 2> /dev/null | grep -q "^backpressure ${lost#*:}"
ok $? "the report tells the whole loss: $lost"
grtrace config --backend=bpf backpressure_threshold=0

# ---- CPUs and drivers that come and go
come_and_go() {
    grtrace record --backend=bpf -o gone.sbt 2> said &
    recorder=$!
    until [ -e $pins/link_module_free ] || ! kill -0 $recorder; do sleep 0.2; done
    echo 0 > /sys/devices/system/cpu/cpu1/online
    /test/test_traffic 0 > /dev/null
    echo 1 > /sys/devices/system/cpu/cpu1/online
    rmmod mockgpu; ok $? "a driver without tracepoints of its own can go"
    rmmod gpu_sched 2> /dev/null; [ $? != 0 ]; ok $? "what is attached to cannot"
    insmod /modules/mockgpu.ko
    taskset 2 /test/test_traffic 0 > /dev/null
    kill -TERM $recorder
    wait $recorder; ok $? "a CPU and a driver came and went"
    tell_missed
    [ "$(grtrace report --format=csv gone.sbt | cut -d, -f10-17,19 | grep -vc NA)" = 65 ]; ok $? "all 64 jobs are whole"
    [ "$(grtrace report --by=ring --format=csv gone.sbt | wc -l)" = 5 ]; ok $? "on the same 4 rings"
    grtrace list --backend=bpf | grep -c '^ring ' > rings
    [ "$(cat rings)" = 4 ]; ok $? "which are listed"
}
steadily come_and_go

# ---- into a program's own trace
export LD_LIBRARY_PATH=/test/emu
into_a_trace() {
    tsrecord --kernel --kernel-backend=bpf --emu -o two.sbt -- /test/kernel/tests/two_gpus 2> said
    ok $? "tsrecord --kernel --kernel-backend=bpf"
    sed 's/^/# /' said
    tell_missed
    [ "$(ls two.sbt* | wc -l)" = 1 ] && tracesmith check two.sbt > /dev/null; ok $? "leaves one sound file"
    [ "$(grtrace report --format=csv two.sbt | cut -d, -f10-17,19 | grep -vc NA)" = 33 ]; ok $? "with all jobs of the rings"
    tracesmith merge --quiet two.sbt | grep -q '^34 requests: 2 commands, 32 ring jobs'; ok $? "beside its commands"
}
steadily into_a_trace
rmmod grtrace; ok $? "the module goes"
tsrecord --kernel --emu -o two.sbt -- /test/kernel/tests/two_gpus 2> said; ok $? "then tsrecord --kernel takes eBPF by itself"
tracesmith info two.sbt | grep -q bpf; ok $? "and says so"

echo "1..$count"
exit $failed
