#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Unpack what QEMU needs beside itself to give a guest OpenGL, and a program for the guest; install
# nothing. In Debian the device is in qemu-system-gui, which otherwise brings a desktop along.
# Prints the folder: modules/ (QEMU_MODULE_DIR), lib/ (LD_LIBRARY_PATH), bin/kmscube. Exit status 77 and a
# reason where it cannot be had.
set -eu
cache=${TS_KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/kernel}
installed=$(dpkg-query -W -f '${Version}' qemu-system-x86 2>/dev/null || true)
folder=$cache/qemu-gl-${installed#*:} # without the colon: it goes into LD_LIBRARY_PATH

unpack() {
    work=$(mktemp -d "$cache/new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    (cd "$work" && apt-get download -q "qemu-system-gui=$installed" libvirglrenderer1 kmscube \
        > /dev/null 2>&1) || return 1
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/unpacked"; done
    mkdir "$work/modules" "$work/lib" "$work/bin"
    ln -s /usr/lib/x86_64-linux-gnu/qemu/*.so "$work/modules/"
    cp "$work"/unpacked/usr/lib/x86_64-linux-gnu/qemu/hw-display-virtio-gpu-gl.so \
        "$work"/unpacked/usr/lib/x86_64-linux-gnu/qemu/ui-sdl.so "$work/modules/"
    cp -d "$work"/unpacked/usr/lib/x86_64-linux-gnu/libvirglrenderer.so* "$work/lib/"
    cp "$work/unpacked/usr/bin/kmscube" "$work/bin/"
    rm -rf "$work"/unpacked "$work"/*.deb
    touch "$work/done"
    rm -rf "$folder"
    mv "$work" "$folder"
}

if [ ! -e "$folder/done" ]; then
    mkdir -p "$cache"
    exec 9> "$cache/lock"
    flock 9
    [ -e "$folder/done" ] || unpack || { echo "QEMU's OpenGL device (qemu-system-gui) cannot be had" >&2; exit 77; }
fi
if LD_LIBRARY_PATH=$folder/lib ldd "$folder/modules/hw-display-virtio-gpu-gl.so" \
    "$folder/modules/ui-sdl.so" | grep 'not found' >&2; then
    echo "QEMU's OpenGL device lacks libraries: scripts/deps test installs them" >&2
    exit 77
fi
command -v xvfb-run > /dev/null || { echo "no xvfb-run: scripts/deps test installs it" >&2; exit 77; }
echo "$folder"
