#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the module, the mock driver and the test programs for Debian's kernel SERIES, and run all of
# it in a virtual machine. Exit status 77 where kernel, emulator or compiler cannot be had.
# Usage: run.sh SERIES BUILD-FOLDER [suite|cost|virtio|tools|merge|bpf|bpf_cost|bpf_locked|nvidia|gl MESON-BUILD-FOLDER]
# suite: the module; cost: its instructions; virtio: QEMU's virtio-gpu; tools: what user space makes of it;
# merge: with what the CPUs did;
# bpf: eBPF in place of the module, bpf_cost: its instructions,
# bpf_locked: on a kernel that is locked down; nvidia: eBPF on a stand-in for NVIDIA's module
# gl: programs of GL and of the screen on virtio-gpu, recorded and replayed
# TS_KERNEL: another kernel than fetch.sh's, in a folder of the same layout (build_debug.sh makes one)
set -euo pipefail
series=$1 build=$(realpath -m "$2")/kernel-$1 what=${3:-suite}
tests=$(dirname "$(dirname "$(readlink -f "$0")")")
export PATH=$PATH:/sbin:/usr/sbin

for tool in qemu-system-x86_64 cpio make gcc depmod pahole xz; do
    command -v $tool > /dev/null || { echo "no $tool: scripts/deps test installs it"; exit 77; }
done
kernel=${TS_KERNEL:-$("$tests/vm/fetch.sh" "$series")} || exit $?

mkdir -p "$build"
exec 8> "$build/lock" # tests of one series share what is built
flock 8
cp -ru "$tests/../include" "$tests/../grtrace" "$tests" "$build/"
# Asking kbuild whether there is something to do takes seconds each time.
made=$build/made # which kernel's headers it was made with, and when
sources=(-name '*.[ch]' -o -name Kbuild -o -name Makefile)
if [ "$(cat "$made" 2> /dev/null)" != "$kernel" ] ||
    [ -n "$(find "$build" \( "${sources[@]}" \) -newer "$made" -print -quit)" ]; then
    symbols= # of grtrace.ko, once it is made
    for folder in grtrace tests/mockgpu tests/bench tests/nvidia; do
        make -s -C "$kernel/headers" "M=$build/$folder" "KBUILD_EXTRA_SYMBOLS=$symbols" modules 2>&1 |
            { grep -v '^Skipping BTF' || true; }
        symbols=$build/grtrace/Module.symvers
    done
    make -s -C "$build/tests"
    echo "$kernel" > "$made"
fi
# With its types, as nothing else of ours needs them: kbuild leaves them out without a vmlinux.
standin=$build/tests/nvidia/nvidia.ko
[ "$what" != nvidia ] || LLVM_OBJCOPY=objcopy pahole -J --btf_base "$kernel/vmlinux" "$standin"
# Without debug information, which a virtual machine has no room for. Another test may be reading it.
if [ -n "${4-}" ] && [ "$4/tools/tracesmith" -nt "$build/tracesmith" ]; then
    strip -o "$build/tracesmith.new" "$4/tools/tracesmith"
    mv "$build/tracesmith.new" "$build/tracesmith"
fi
flock -u 8

common=(-m drm -m gpu-sched -m "$build/grtrace/grtrace.ko")
if [ "$what" = cost ]; then
    TS_VM_CPUS=1 exec "$tests/vm/boot.sh" "$kernel" "$tests/cost.sh" "${common[@]}" \
        -f "$build/tests/bench/grtrace_bench.ko" -- -icount shift=1,sleep=off
fi
if [ "$what" = bpf_cost ]; then
    TS_VM_CPUS=1 exec "$tests/vm/boot.sh" "$kernel" "$tests/probe_cost.sh" "${common[@]}" \
        -f "$build/tests/bench/grtrace_probe_bench.ko" -f "$build/tracesmith:tools/tracesmith" \
        -- -icount shift=1,sleep=off
fi
if [ "$what" = bpf_locked ]; then
    # The exit device cannot be written to by whoever is locked down, so its status is what is printed.
    output=$(TS_VM_STRIP=no "$tests/vm/boot.sh" "$kernel" "$tests/bpf_locked.sh" -m drm -m virtio_pci -l virtio-gpu \
        -f "$build/grtrace/grtrace.ko" -f "$build/tracesmith:tools/tracesmith" \
        -a lockdown=integrity -- -vga none -device virtio-gpu-pci) || true
    echo "$output"
    grep -q '^# status 0,' <<< "$output" || exit 1
    exit
fi
if [ "$what" = nvidia ]; then
    exec "$tests/vm/boot.sh" "$kernel" "$tests/nvidia.sh" -l "$standin" \
        -f "$build/tracesmith:tools/tracesmith" -f "$tests/nvidia.expected"
fi
if [ "$what" = virtio ]; then
    others=() # drivers that this kernel has
    for driver in amdgpu i915 xe nouveau radeon; do
        [ -z "$(find "$kernel/lib" -name "$driver.ko*" -print -quit)" ] || others+=(-l $driver)
    done
    TS_VM_MEMORY=1G exec "$tests/vm/boot.sh" "$kernel" "$tests/virtio.sh" -m drm -m virtio_pci -m gpu-sched \
        -m "$build/grtrace/grtrace.ko" -l virtio-gpu "${others[@]}" -- -vga none -device virtio-gpu-pci
fi
if [ "$what" = gl ]; then
    gl=$("$tests/vm/gl.sh") || exit $?
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    files=(-f "$gl/bin/kmscube:kmscube" -o "$out")
    for file in tools/tracesmith interpose/libts_capture.so kernel/tests/gl_frames kernel/tests/page_flips; do
        files+=(-f "$4/$file:$file")
    done
    status=0
    QEMU_MODULE_DIR=$gl/modules LD_LIBRARY_PATH=$gl/lib SDL_VIDEODRIVER=x11 xvfb-run -a -s "-screen 0 640x480x24" \
        "$tests/vm/boot.sh" "$kernel" "$tests/gl.sh" -r -m drm -m virtio-gpu -m "$build/grtrace/grtrace.ko" \
        "${files[@]}" -a drm_kms_helper.fbdev_emulation=0 -- -vga none -device virtio-gpu-gl-pci \
        -display sdl,gl=on -trace 'virtio_gpu_fence_*' -msg timestamp=on -D "$out/qemu.log" || status=$?
    sh "$tests/gl_host.sh" "$4/tools/tracesmith" "$out" || status=1
    exit $status
fi
files=(-f "$tests/test_life.sh")
for program in "$build"/tests/test_*.c; do files+=(-f "${program%.c}"); done
script=$tests/suite.sh
if [ "$what" = bpf ]; then
    files+=(-f "$build/tests/bench/grtrace_nested.ko")
fi
if [ "$what" = tools ] || [ "$what" = merge ] || [ "$what" = bpf ]; then
    script=$tests/$what.sh
    files+=(-f "$build/tracesmith:tools/tracesmith")
    for file in interpose/libts_capture.so interpose/shim/libcuda.so.1 \
        emu/libcuda.so.1 kernel/tests/two_gpus; do
        files+=(-f "$4/$file:$file")
    done
fi
[ "$what" != tools ] || export TS_VM_CPUS=${TS_VM_CPUS:-3} # they come and go
if [ "$what" = merge ]; then
    tracer=$(command -v trace-cmd) || { echo "no trace-cmd: scripts/deps test installs it"; exit 77; }
    files+=(-f "$tracer")
fi
exec "$tests/vm/boot.sh" "$kernel" "$script" "${common[@]}" -m "$build/tests/mockgpu/mockgpu.ko" \
    "${files[@]}"
