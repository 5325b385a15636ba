#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ways to replay: again and again, in part, one at a time, compared with each other, on no device.
. "$(dirname "$0")/vulkan_util.sh"
record_mode plain
record_mode instances
all_equal 12 plain.sbt --loop=3
all_equal 4 plain.sbt --pace=stepped
all_equal 4 plain.sbt --grain=command
all_equal 4 plain.sbt --device=0
all_equal 1 instances.sbt --streams=1
[ "$(field out checksum_count)" = 1 ] || fail "another stream was compared, too"
status 0 tsreplay --check=2 plain.sbt
grep -q 'run_to_run' out
status 0 tsreplay --dry-run plain.sbt
status 2 tsreplay --device=9 plain.sbt
grep -q 'no device 9' err || fail "$(cat err)"
status 2 tsreplay --library=/nowhere/libvulkan.so plain.sbt
# A driver without a loader gives the same.
for library in /usr/lib/x86_64-linux-gnu/libvulkan_lvp.so; do
    [ ! -f $library ] || all_equal 4 plain.sbt --library=$library
done
