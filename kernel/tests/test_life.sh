#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Nothing that root does to the module's files, to CPUs or to drivers makes the kernel complain:
# traffic runs beside it. Expects grtrace.ko and mockgpu.ko in $MODULES, and test_traffic here.
folder=/sys/kernel/debug/grtrace
. "$(dirname "$0")/tap.sh"
here=$(dirname "$0")
MODULES=${MODULES:-/modules}

# ---- hostile writes
head -c 4096 /dev/urandom > /tmp/noise
for file in control config rules emit; do
    for size in 1 7 63 4095 4096; do head -c $size /tmp/noise > $folder/$file; done
    printf '' > $folder/$file
    printf 'start\0stop' > $folder/$file
    head -c 100000 /dev/zero > $folder/$file
done 2> /dev/null
ok 0 "noise was written to each file"
[ "$(cat $folder/control)" = stopped ]
ok $? "and changed nothing"
for file in $folder/*; do dd if=$file of=/dev/null bs=1 count=3 skip=1 2> /dev/null; cat $file > /dev/null; done
for file in $folder/stats $folder/records0; do echo x > $file; done 2> /dev/null
ok 0 "each file was read, in parts"

# ---- sessions, readers, CPUs and drivers beside traffic
"$here/test_traffic" 60 > /dev/null &
traffic=$!
for i in 1 2 3; do
    echo start > $folder/control
    cat $folder/records0 > /dev/null
    cat $folder/records1 > /dev/null &
    cat $folder/stats > /dev/null
    echo flush > $folder/control
    echo stop > $folder/control
    cat $folder/records1 > /dev/null
done
wait $!
ok 0 "sessions came and went, with readers"
echo 0 > /sys/devices/system/cpu/cpu1/online
echo start > $folder/control
for i in 1 2; do
    echo 1 > /sys/devices/system/cpu/cpu1/online
    echo 0 > /sys/devices/system/cpu/cpu1/online
    echo flush > $folder/control
done
echo 1 > /sys/devices/system/cpu/cpu1/online
ok $? "a CPU came and went"
taskset 2 "$here/test_traffic" 0 > /dev/null
echo stop > $folder/control
cat $folder/records1 > /tmp/records1
[ -s /tmp/records1 ]
ok $? "it has records"
for i in 1 2 3; do
    rmmod grtrace && insmod $MODULES/grtrace.ko && echo start > $folder/control
done
ok $? "the module was loaded again and again beside traffic"
exec 3< $folder/records0
rmmod grtrace 2> /dev/null
[ $? != 0 ]
ok $? "it stays while a file of records is open"
cat <&3 > /dev/null
ok $? "which can be read"
exec 3<&-
exec 4> $folder/control
echo stop >&4
echo 'start attached' >&4
[ "$(cat $folder/control)" = running ]
ok $? "a session begins that lives with the file"
exec 4>&-
[ "$(cat $folder/control)" = stopped ]
ok $? "and ends when it is closed"
rmmod grtrace
ok $? "then the module can go"
kill $traffic
wait $traffic

# ---- drivers in any order
for i in 1 2; do
    rmmod mockgpu && rmmod gpu_sched && insmod $MODULES/grtrace.ko && echo start > $folder/control &&
        insmod $MODULES/gpu-sched.ko && insmod $MODULES/mockgpu.ko && "$here/test_traffic" 0 > /dev/null &&
        rmmod mockgpu && rmmod gpu_sched && insmod $MODULES/gpu-sched.ko &&
        insmod $MODULES/mockgpu.ko && "$here/test_traffic" 0 > /dev/null && echo stop > $folder/control
    ok $? "drivers came and went while a session ran"
    records=$(cat $folder/events_by_type | sed -n 's/^COMPLETE //p')
    [ "$records" = 64 ]
    ok $? "$records of 64 jobs were seen, before and after"
    [ $i = 2 ] || rmmod grtrace
done
grep -q '^probe drm_sched_job gpu_sched verified' $folder/stats
ok $? "probes are verified by BTF"
echo "1..$count"
exit $failed
