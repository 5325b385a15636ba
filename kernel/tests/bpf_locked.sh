# SPDX-License-Identifier: GPL-2.0
# A kernel that is locked down, as under Secure Boot: it refuses the module, eBPF records all the same;
# a real ring, QEMU's virtio-gpu, whose driver comes while the session runs.
. "$(dirname "$0")/tap.sh"
cd /tmp
ln -s /test/tools/tracesmith grtrace
PATH=$PATH:/tmp
mount -t bpf bpf /sys/fs/bpf
mount -t securityfs security /sys/kernel/security
grep -q '\[integrity\]' /sys/kernel/security/lockdown; ok $? "the kernel is locked down"
insmod /test/grtrace.ko 2> /dev/null; [ $? != 0 ]; ok $? "it refuses an unsigned module"
grtrace record -o v.sbt 2> said &
recorder=$!
until [ -e /sys/fs/bpf/grtrace/link_dma_fence_wait_end ] || ! kill -0 $recorder; do sleep 0.2; done
for module in $(cat /modules/later); do insmod /modules/$module || echo "# $module cannot be loaded"; done
for i in $(seq 120); do
    ls /sys/fs/bpf/grtrace | grep -q link_virtio_resp && break
    sleep 1
done
grtrace list --backend=bpf > list
sed 's/^/# /' list
grep -q '^probe virtio_gpu_cmd_queue virtio_gpu verified attached' list; ok $? "a driver that came later is attached to"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "line $i" > /dev/tty0; sleep 0.2; done
kill -TERM $recorder
wait $recorder; ok $? "without module, grtrace record takes eBPF by itself"
sed 's/^/# /' said
grtrace report --format=csv v.sbt > jobs
sed 's/^/# /' jobs | head -4
[ "$(grep -c ',control,control,' jobs)" -gt 3 ]; ok $? "commands of its control queue are there"
grep ',control,control,' jobs | cut -d, -f11,13,14 | grep -vc NA > whole
[ "$(cat whole)" -gt 2 ]; ok $? "$(cat whole) of them with submit, end and completion"
echo "1..$count"
exit $failed
