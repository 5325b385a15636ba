# SPDX-License-Identifier: GPL-2.0
# Instructions that a record takes, counted by the emulator: the same on every host. The limit is a
# promise; what else records 64 bytes is shown beside it.
limit=93
cd /sys/kernel/debug/grtrace
echo overwrite 1 > config
echo start > control
insmod /test/grtrace_bench.ko
echo stop > control
dmesg | sed -n 's/.*grtrace_bench: /# instructions: /p'
insns=$(dmesg | sed -n 's/.*grtrace_bench: grtrace //p')
if [ -n "$insns" ] && [ "${insns%.*}" -lt $limit ]; then
    echo "ok 1 - a record takes $insns instructions, at most $limit"
else
    echo "not ok 1 - a record takes '$insns' instructions, more than $limit"
    exit 1
fi
echo 1..1
