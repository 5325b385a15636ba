#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the module, the mock driver and the test programs for Debian's kernel SERIES, and run all of
# it in a virtual machine. Exit status 77 where kernel, emulator or compiler cannot be had.
# Usage: run.sh SERIES BUILD-FOLDER
set -euo pipefail
series=$1 build=$2/kernel-$1
tests=$(dirname "$(dirname "$(readlink -f "$0")")")
export PATH=$PATH:/sbin:/usr/sbin

for tool in qemu-system-x86_64 cpio make gcc depmod pahole xz; do
    command -v $tool > /dev/null || { echo "no $tool: scripts/deps test installs it"; exit 77; }
done
kernel=$("$tests/vm/fetch.sh" "$series") || exit $?

mkdir -p "$build"
cp -ru "$tests/../include" "$tests/../grtrace" "$tests" "$build/"
for folder in grtrace tests/mockgpu; do
    make -s -C "$kernel/headers" "M=$build/$folder" modules 2>&1 | { grep -v '^Skipping BTF' || true; }
done
make -s -C "$build/tests"

files=()
for program in "$build"/tests/test_*; do
    [ "${program%.c}" != "$program" ] || files+=(-f "$program")
done
exec "$tests/vm/boot.sh" "$kernel" "$tests/suite.sh" -m drm -m gpu-sched -m "$build/grtrace/grtrace.ko" \
    -m "$build/tests/mockgpu/mockgpu.ko" "${files[@]}"
