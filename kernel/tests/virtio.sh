# SPDX-License-Identifier: GPL-2.0
# A real ring: QEMU's virtio-gpu. Loading its driver while a session runs sends commands. Then the other drivers of
# this kernel, without their hardware: probes must fit them, come and go.
. "$(dirname "$0")/tap.sh"
folder=/sys/kernel/debug/grtrace
number() { sed -n "s/^$1 //p" $folder/$2; }
echo level 3 > $folder/config
echo filter_engine_mask 0x40 > $folder/config # the control queue's: it passes whole
echo start > $folder/control
load() { for module in $*; do insmod /modules/$module || echo "# $module cannot be loaded"; done; }
load $(sed '/^virtio-gpu/q' /modules/later)
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

echo start > $folder/control
load $(sed '1,/^virtio-gpu/d' /modules/later)
others=
for driver in amdgpu i915 xe nouveau radeon; do
    [ -e /modules/$driver.ko ] || continue
    others="$others $driver"
    [ -d /sys/module/$driver ]; ok $? "$driver is loaded"
done
for probe in amdgpu_cs_ioctl=amdgpu amdgpu_iv=amdgpu i915_request_add=i915 i915_request_retire=i915 \
    i915_request_wait_begin=i915 i915_request_wait_end=i915 xe_sched_job_timedout=xe xe_exec_queue_reset=xe; do
    [ -e /modules/${probe#*=}.ko ] || continue
    grep -q "^probe ${probe%=*} ${probe#*=} verified attached" $folder/stats; ok $? "${probe%=*} fits and is attached"
done
! grep ' differs' $folder/stats; ok $? "no prototype differs"
for driver in $others; do rmmod $driver; done
! grep -E '^probe (amdgpu|i915|xe)_' $folder/stats; ok $? "probes go with their drivers"
grep -q '^probe drm_run_job gpu_sched verified attached' $folder/stats; ok $? "the scheduler's stay"
echo stop > $folder/control
echo "1..$count"
exit $failed
