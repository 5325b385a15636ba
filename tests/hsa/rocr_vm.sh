#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rocr.sh in a virtual machine. 77 where its parts cannot be had. Usage: rocr_vm.sh SOURCE BUILD
set -eu
vm=$1/kernel/tests/vm build=$2
PATH=$PATH:/sbin:/usr/sbin
for tool in qemu-system-x86_64 cpio modprobe xz; do
    command -v $tool >/dev/null || { echo "no $tool: scripts/deps test installs it"; exit 77; }
done
runtime=$(/sbin/ldconfig -p | sed -n 's/.*libhsa-runtime64.so.1 .*=> //p' | head -1)
[ -r "$runtime" ] || { echo "no libhsa-runtime64.so.1: scripts/deps test installs it"; exit 77; }
kernel=$("$vm/fetch.sh" 6.1) || exit $?
set -- -f "$runtime:rocr/libhsa-runtime64.so.1"
for file in tools/tracesmith interpose/libts_capture.so interpose/shim/libts_hsa_tool.so \
    interpose/shim/libhsa-runtime64.so.1 emu/libhsa-runtime64.so.1 emu/ts_hsa_sandbox tests/hsa/hsa_host tests/hsa/hsa_soft; do
    set -- "$@" -f "$build/$file:$file"
done
[ ! -x /usr/bin/rocminfo ] || set -- "$@" -f /usr/bin/rocminfo:rocminfo
exec "$vm/boot.sh" "$kernel" "$(dirname "$0")/rocr.sh" -m amdgpu "$@"
