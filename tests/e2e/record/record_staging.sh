#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random programs that pass bytes on through memory of the host, mostly without a wait: what the device
# wrote there and copies again is no bytes of the program. More: record_staging.sh FIRST LAST STEPS
. "$(dirname "$0")/../util.sh"

first=${1:-1} last=${2:-10} steps=${3:-60}
for seed in $(seq "$first" "$last"); do
    case $((seed % 4)) in
    0) TS_CHECKSUM=command ;;
    1) TS_CHECKSUM=sync ;;
    *) TS_CHECKSUM=off ;;
    esac
    export TS_CHECKSUM
    same_output staging "$seed" "$steps"
    status 0 replay t.sbt
    grep -q 'checksums equal' out
done
# One program in all arms; kernels write host memory, too.
same_output staging 5 20
tracesmith check t.sbt
status 0 replay --check t.sbt
