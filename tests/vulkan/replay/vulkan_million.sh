#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A million commands: neither what is recorded nor what replays takes more memory than for some. What
# is there after all of them is what was there.
. "$(dirname "$0")/vulkan_util.sh"

# kib WORD... : the most memory that the command takes; its output goes to ./out
kib() {
    python3 -c 'import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=open("out", "w"), stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$@"
}

# grown WHAT BEFORE AFTER: by less than 32 MiB, where the commands themselves are more than twice that
grown() {
    [ $(($3 - $2)) -lt 32768 ] || fail "$1 took $2 KiB for 300000 commands, $3 for a million"
}

for count in 300000 1000000; do
    record_vulkan $count.sbt "$TEST_VULKAN/vk_odd" many $count >$count.out 2>$count.err
    export peak_$count="$(sed -n 's/VmHWM:[^0-9]*\([0-9]*\).*/\1/p' $count.err)"
    export replay_$count="$(kib tsreplay --json $count.sbt)"
    [ "$(field out checksum_count)" = $((count / 1000)) ] || fail "$count: $(cat out)"
    [ "$(field out difference_count)" = 0 ] || fail "$count: $(cat out)"
done
grown recording "$peak_300000" "$peak_1000000"
grown replay "$replay_300000" "$replay_1000000"
