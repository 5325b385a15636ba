# SPDX-License-Identifier: GPL-2.0
# A real ring: QEMU's virtio-gpu. Loading its driver while a session runs sends commands.
. "$(dirname "$0")/tap.sh"
folder=/sys/kernel/debug/grtrace
number() { sed -n "s/^$1 //p" $folder/$2; }
echo level 3 > $folder/config
echo filter_engine_mask 0x40 > $folder/config # the control queue's: it passes whole
echo start > $folder/control
for module in $(cat /modules/later); do insmod /modules/$module || echo "# $module cannot be loaded"; done
sleep 1
echo stop > $folder/control
grep virtio $folder/stats | sed 's/^/# /'
grep -q '^probe virtio_gpu_cmd_queue virtio_gpu verified' $folder/stats; ok $? "the probe fits this kernel"
grep -q '^ring .* engine 6 control' $folder/stats; ok $? "the control queue is a ring"
submits=$(number SUBMIT events_by_type)
[ "$submits" -gt 3 ]; ok $? "$submits commands were submitted"
[ "$(number COMPLETE events_by_type)" = "$submits" ]; ok $? "and all were answered"
[ "$(number ok result_hist)" = "$submits" ]; ok $? "without error"
[ "$(number 'exec_ns sum' latency_hist)" = 0 ]; ok $? "none has a START: the host does not tell"
echo "1..$count"
exit $failed
