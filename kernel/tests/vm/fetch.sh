#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Unpack Debian's kernel SERIES (6.1, 6.12), its headers and busybox into the cache; install nothing.
# Prints the folder: boot/, lib/modules/VERSION, headers (a link), vmlinux, busybox, version.
# Packages are found by name at run time, since security updates move them. Where none can be had an
# older unpacked one does; exit status 77 where there is none.
# Usage: fetch.sh SERIES
set -eu
series=$1
here=$(dirname "$(readlink -f "$0")")
cache=${TS_KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/kernel}

depends() { apt-cache depends "$1" 2>/dev/null | sed -n "s/.*Depends: \($2\)\$/\1/p" | head -1; }

# linux-image-amd64 is Debian 12's own kernel; others are called by their series.
newest() {
    for meta in "linux-image-$series-amd64" linux-image-amd64; do
        depends "$meta" "linux-image-$series\.[0-9].*" | sed 's/^linux-image-//' | grep . && return
    done
}

unpacked() { ls -dt "$cache"/"$series".*/done 2>/dev/null | head -1; }

unpack() {
    version=$1
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/new.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    common=$(depends "linux-headers-$version" 'linux-headers-.*-common')
    kbuild=$(depends "linux-headers-$version" 'linux-kbuild-.*')
    (cd "$work" && apt-get download -q "linux-image-$version" "linux-headers-$version" \
        ${common:?} ${kbuild:?} busybox-static >/dev/null 2>&1) || return 1
    for package in "$work"/*.deb; do dpkg -x "$package" "$work"; done
    rm "$work"/*.deb
    folder=$cache/$version
    # The only absolute path in the headers.
    sed -i "s#/usr/src/#$folder/usr/src/#" "$work/usr/src/linux-headers-$version/Makefile"
    ln -s "usr/src/linux-headers-$version" "$work/headers"
    /sbin/depmod -b "$work" "$version"
    python3 "$here/vmlinux.py" "$work/boot/vmlinuz-$version" "$work/vmlinux"
    cp "$(find "$work" -path '*bin/busybox' | head -1)" "$work/busybox"
    echo "$version" > "$work/version"
    touch "$work/done"
    rm -rf "$folder"
    mv "$work" "$folder"
}

version=$(newest || true)
if [ -n "$version" ] && [ ! -e "$cache/$version/done" ]; then
    mkdir -p "$cache"
    exec 9> "$cache/lock"
    flock 9
    [ -e "$cache/$version/done" ] || unpack "$version" >&2 || version=
fi
if [ -z "$version" ]; then
    done=$(unpacked)
    [ -n "$done" ] || { echo "no package of a $series kernel can be had" >&2; exit 77; }
    version=$(basename "$(dirname "$done")")
fi
echo "$cache/$version"
