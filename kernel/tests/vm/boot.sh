#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boot an unpacked kernel (fetch.sh) under emulation with an initramfs of busybox, modules, and files;
# run /test/SCRIPT in it. The serial line goes to stdout. Exit status: the script's, 99 when the
# machine did not end by itself in time.
# Usage: boot.sh KERNEL SCRIPT [-m MODULE]... [-l MODULE]... [-f FILE[:PLACE]]... [-a APPEND]
#                [-r] [-o FOLDER] [-- QEMU-OPTION...]
#   -m  a module: a name (with all that it needs) or a .ko file; loaded in this order
#   -l  the same, but left to the script: /modules/later names the files, in order
#   -f  a file, with the libraries that it needs; PLACE as in /test/PLACE
#   -r  the script runs in the host's file system: what it writes there is gone afterwards
#   -o  with -r: /out is this folder of the host's
# TS_VM_CPUS (2), TS_VM_MEMORY (512M), TS_VM_TIMEOUT (480 s) and TS_VM_THREADS (single; multi is no faster on two cores, and
# with it QEMU 7.2 trips over code that patches itself) change the machine. TS_VM_STRIP=no keeps modules as they
# are, with their signatures.
# Never with KVM: what a test measures must not depend on where it runs.
set -euo pipefail
kernel=$1 script=$2
shift 2
version=$(cat "$kernel/version")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,dev,proc,sys,modules,test,tmp,etc,lib64}
cp "$kernel/busybox" "$root/bin/busybox"
cp "$script" "$root/test/main.sh"
cp "$(dirname "$(readlink -f "$0")")/../tap.sh" "$root/test/"
cp "$(dirname "$(readlink -f "$0")")/init" "$root/init"

add_module() {
    local name=${1##*/}
    [ -e "$root/modules/${name%.xz}" ] && return
    case $1 in
    *.xz) xz -dc "$1" > "$root/modules/${name%.xz}" ;;
    *) cp "$1" "$root/modules/$name" ;;
    esac
    [ "${TS_VM_STRIP:-yes}" = no ] || strip -g "$root/modules/${name%.xz}"
    echo "${name%.xz}" >> "$root/modules/$list"
}
add_named() {
    local word path rest
    while read -r word path rest; do
        [ "$word" != insmod ] || add_module "$path"
    done < <(/sbin/modprobe -d "$kernel" -S "$version" --show-depends "$1")
}
add_file() {
    local file=${1%%:*} place=${1##*:}
    [ "$place" != "$1" ] || place=${1##*/}
    mkdir -p "$(dirname "$root/test/$place")"
    cp -L "$file" "$root/test/$place"
    # Debug information would be most of what the machine unpacks.
    [ "${TS_VM_STRIP:-yes}" = no ] || strip -g "$root/test/$place" 2> /dev/null || true
    { ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true; } | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -Ln "$library" "$root$library"
    done
}

append=
machine=(-m "${TS_VM_MEMORY:-512M}")
share=local,security_model=none
while [ $# -gt 0 ]; do
    case $1 in
    -m | -l)
        [ "$1" = -m ] && list=order || list=later
        case $2 in *.ko) add_module "$2" ;; *) add_named "$2" ;; esac ;;
    -f) add_file "$2" ;;
    -a) append=$2 ;;
    -r)
        list=order
        for module in virtio_pci 9pnet_virtio 9p overlay; do add_named $module; done
        mkdir "$root/host" "$root/over"
        machine=(-m 1G -virtfs "$share,path=/,mount_tag=host,readonly=on,multidevs=remap")
        shift
        continue ;;
    -o) mkdir "$root/out"; machine+=(-virtfs "$share,path=$2,mount_tag=out") ;;
    --) shift; break ;;
    esac
    shift 2
done
(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 > "$root.img"
trap 'rm -rf "$root" "$root.img"' EXIT

image=$kernel/bzImage # boots more slowly, where there is one it is needed
[ -e "$image" ] || image=$kernel/vmlinux
status=0
timeout "${TS_VM_TIMEOUT:-480}" qemu-system-x86_64 -accel "tcg,thread=${TS_VM_THREADS:-single}" -cpu qemu64 -M pc -smp "${TS_VM_CPUS:-2}" "${machine[@]}" \
    -kernel "$image" -initrd "$root.img" -nodefaults -display none -serial stdio -no-reboot \
    -device isa-debug-exit,iobase=0xf4,iosize=4 \
    -append "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable no_timer_check cryptomgr.notests $append" \
    "$@" < /dev/null | tr -d '\r' || status=$?
# isa-debug-exit makes 2 * value + 1 of what is written to it; all else is no regular end.
[ $((status & 1)) = 1 ] && [ "$status" -lt 124 ] && exit $((status >> 1))
exit 99
