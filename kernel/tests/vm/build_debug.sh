#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build a small kernel with lockdep and KASAN from Debian's linux-source, in FOLDER/source, and make
# FOLDER look like what fetch.sh unpacks. Nothing is installed.
# Usage: build_debug.sh LINUX-SOURCE.tar.xz FOLDER
# kernel/README.md has an example.
set -euo pipefail
archive=$1 folder=$(realpath -m "$2")
export PATH=$PATH:/sbin:/usr/sbin
mkdir -p "$folder/source"
cd "$folder/source"
[ -e Makefile ] || tar -xJf "$archive" --strip-components 1

on="64BIT SMP HOTPLUG_CPU ACPI PCI PCI_MSI HYPERVISOR_GUEST PVH HIGH_RES_TIMERS NO_HZ_IDLE PREEMPT
SLUB CC_OPTIMIZE_FOR_PERFORMANCE UNWINDER_FRAME_POINTER KALLSYMS_ALL
MODULES MODULE_UNLOAD PRINTK BUG PRINTK_TIME BLK_DEV_INITRD RD_GZIP BINFMT_ELF BINFMT_SCRIPT MULTIUSER SYSCTL
POSIX_TIMERS FUTEX EPOLL SIGNALFD TIMERFD EVENTFD AIO SHMEM ADVISE_SYSCALLS MEMBARRIER FILE_LOCKING
PROC_FS SYSFS TMPFS DEVTMPFS DEBUG_FS TTY VT SERIAL_8250 SERIAL_8250_CONSOLE DEVMEM DEVPORT
RELAY KPROBES PERF_EVENTS FTRACE FUNCTION_TRACER DYNAMIC_FTRACE KPROBE_EVENTS BPF_SYSCALL
DEBUG_KERNEL DEBUG_INFO_DWARF4 DEBUG_INFO_BTF DEBUG_INFO_BTF_MODULES
VIRTIO_MENU FB FRAMEBUFFER_CONSOLE DRM_FBDEV_EMULATION"
debug="PROVE_LOCKING DEBUG_LOCK_ALLOC DEBUG_ATOMIC_SLEEP DEBUG_PREEMPT
KASAN KASAN_GENERIC KASAN_INLINE KASAN_VMALLOC
DEBUG_LIST DEBUG_OBJECTS DEBUG_OBJECTS_FREE DEBUG_OBJECTS_TIMERS DEBUG_OBJECTS_WORK DEBUG_OBJECTS_RCU_HEAD"
modules="VIRTIO_PCI DRM DRM_VIRTIO_GPU DRM_ETNAVIV" # etnaviv wants the scheduler, nothing more
off="SLOB SLUB_TINY CC_OPTIMIZE_FOR_SIZE EMBEDDED DEBUG_INFO_NONE DEBUG_INFO_REDUCED RETPOLINE
UNWINDER_GUESS HZ_PERIODIC PREEMPT_NONE PREEMPT_VOLUNTARY KASAN_OUTLINE MODULE_SIG SYSTEM_TRUSTED_KEYRING VGA_CONSOLE
HID INPUT_KEYBOARD INPUT_MOUSE SERIO DRM_ETNAVIV_THERMAL RD_BZIP2 RD_LZMA RD_XZ RD_LZO RD_LZ4 RD_ZSTD
SERIAL_8250_EXAR SERIAL_8250_LPSS SERIAL_8250_MID SERIAL_8250_PERICOM"

make -s tinyconfig > /dev/null 2>&1
for name in $off; do scripts/config -d "$name"; done
for name in $on $debug; do scripts/config -e "$name"; done
for name in $modules; do scripts/config -m "$name"; done
scripts/config --set-str LOCALVERSION -grtrace-debug
make -s olddefconfig
for name in $on $debug; do
    grep -q "^CONFIG_$name=y" .config || { echo "CONFIG_$name cannot be had"; missing=1; }
done
for name in $modules DRM_SCHED; do
    grep -q "^CONFIG_$name=m" .config || { echo "CONFIG_$name cannot be had"; missing=1; }
done
[ -z "${missing-}" ] || exit 1

nice -n 19 make -s "-j$(nproc)" bzImage modules
make -s kernelrelease > "$folder/version"
rm -rf "$folder/lib"
make -s INSTALL_MOD_PATH="$folder" INSTALL_MOD_STRIP=1 modules_install
objcopy -g vmlinux "$folder/vmlinux"
cp arch/x86/boot/bzImage "$folder/bzImage" # vmlinux cannot be booted: it begins before KASAN has its memory
cp "$(command -v busybox)" "$folder/busybox"
ln -sfn source "$folder/headers"
touch "$folder/done"
