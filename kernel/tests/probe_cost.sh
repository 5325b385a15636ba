# SPDX-License-Identifier: GPL-2.0
# Instructions of a whole probe, from the tracepoint to the record: the module's and eBPF's beside it,
# counted by the emulator.
cd /tmp
ln -s /test/tools/tracesmith grtrace
PATH=$PATH:/tmp
mount -t bpf bpf /sys/fs/bpf
measure() { # NAME
    dmesg -c > /dev/null
    insmod /test/grtrace_probe_bench.ko
    insns=$(dmesg | sed -n 's/.*grtrace_probe_bench: //p')
    rmmod grtrace_probe_bench
    echo "# instructions: $1 $insns"
}
measure nothing
grtrace start --backend=module level=3
measure module
module=${insns%.*}
grtrace stop --backend=module
grtrace start --backend=bpf level=3
measure bpf
bpf=${insns%.*}
grtrace stop --backend=bpf
[ "$(grtrace status --backend=bpf | sed -n 's/^FENCE //p')" -ge 5000 ] || { echo "not ok 1 - eBPF recorded nothing"; exit 1; }
# Three times the module's is what was expected of it; more says that something went wrong.
limit=$((5 * module))
if [ -n "$bpf" ] && [ "$bpf" -gt 0 ] && [ "$bpf" -le $limit ]; then
    echo "ok 1 - a probe of eBPF takes $bpf instructions, the module's $module"
else
    echo "not ok 1 - a probe of eBPF takes '$bpf' instructions, the module's $module"
    exit 1
fi
echo 1..1
