#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the module, the mock driver and the test programs for Debian's kernel SERIES, and run all of
# it in a virtual machine. Exit status 77 where kernel, emulator or compiler cannot be had.
# Usage: run.sh SERIES BUILD-FOLDER [suite|cost]
set -euo pipefail
series=$1 build=$2/kernel-$1 what=${3:-suite}
tests=$(dirname "$(dirname "$(readlink -f "$0")")")
export PATH=$PATH:/sbin:/usr/sbin

for tool in qemu-system-x86_64 cpio make gcc depmod pahole xz; do
    command -v $tool > /dev/null || { echo "no $tool: scripts/deps test installs it"; exit 77; }
done
kernel=$("$tests/vm/fetch.sh" "$series") || exit $?

mkdir -p "$build"
exec 8> "$build/lock" # tests of one series share what is built
flock 8
cp -ru "$tests/../include" "$tests/../grtrace" "$tests" "$build/"
for folder in grtrace tests/mockgpu tests/bench; do
    make -s -C "$kernel/headers" "M=$build/$folder" \
        "KBUILD_EXTRA_SYMBOLS=$build/grtrace/Module.symvers" modules 2>&1 |
        { grep -v '^Skipping BTF' || true; }
done
make -s -C "$build/tests"
flock -u 8

common=(-m drm -m gpu-sched -m "$build/grtrace/grtrace.ko")
if [ "$what" = cost ]; then
    TS_VM_CPUS=1 TS_VM_THREADS=single exec "$tests/vm/boot.sh" "$kernel" "$tests/cost.sh" "${common[@]}" \
        -f "$build/tests/bench/grtrace_bench.ko" -- -icount shift=1,sleep=off
fi
files=(-f "$tests/test_life.sh")
for program in "$build"/tests/test_*.c; do files+=(-f "${program%.c}"); done
exec "$tests/vm/boot.sh" "$kernel" "$tests/suite.sh" "${common[@]}" -m "$build/tests/mockgpu/mockgpu.ko" \
    "${files[@]}"
