# SPDX-License-Identifier: GPL-2.0
# The collector for NVIDIA's open kernel module, on a stand-in with the same symbols and structs.
. "$(dirname "$0")/tap.sh"
cd /tmp
for name in grtrace tracesmith; do ln -s /test/tools/tracesmith $name; done
PATH=$PATH:/tmp
mount -t bpf bpf /sys/fs/bpf
record() { # FILE OPTION...: a session around one run of the stand-in
    file=$1
    shift
    grtrace nvidia record -o "$file" "$@" 2> said &
    recorder=$!
    until [ -e /sys/fs/bpf/grtrace/link_nvidia_timeslice ] || ! kill -0 $recorder 2> /dev/null; do sleep 0.2; done
    grtrace status --backend=bpf > stats
    sh -c 'echo 1 > /sys/module/nvidia/parameters/run'
    kill -TERM $recorder
    wait $recorder
}

grtrace nvidia record 2> said; [ $? = 2 ]; ok $? "without the module it does not begin"
grep -q 'not loaded' said; ok $? "and says so"
for module in $(cat /modules/later); do insmod /modules/$module; done

record a.sbt; ok $? "grtrace nvidia record"
sed 's/^/# /' said
insns=$(sed -n 's/^verified_insns //p' stats)
[ "$insns" -gt 1000 ] && [ "$insns" -lt 100000 ]; ok $? "its programs are verified in $insns steps at most, far from a kernel's limit"
tracesmith check a.sbt > /dev/null; ok $? "its trace is sound"
grtrace nvidia report --format=csv a.sbt | cut -d, -f2,3,6- > report
diff /test/nvidia.expected report > differences; ok $? "each event with its numbers, as expected"
sed 's/^/# /' differences
grtrace nvidia report a.sbt | sed '1,/^statistics/d' > sums
sed 's/^/# /' sums
grep -q '^token *WORK_SUBMIT *4  requests for a token; not launches' sums; ok $? "sums at the end"
grtrace nvidia report --format=json a.sbt | grep -q '"schema":"grtrace-nvidia/1".*"statistics":{"create":3,"bind":6,"token":4,"destroy":3'
ok $? "JSON"

# ---- places of members from a file: a wrong one shows, so it counted
echo 'KernelChannelGroup.grpID 108 4 # is runlistId in the stand-in' > layout
record b.sbt --layout=layout; ok $? "record, with a layout"
[ "$(grtrace nvidia report --format=csv b.sbt | sed -n 2p | cut -d, -f7,8)" = 13,13 ]; ok $? "which is what is read by"
echo 'KernelChannelGroup.color 1 4' > layout
grtrace nvidia record --layout=layout 2> said; [ $? = 2 ]; ok $? "a layout of nonsense is refused"
echo "1..$count"
exit $failed
