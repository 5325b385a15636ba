#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Somebody else's files under the names beside a trace: tsrecord runs the program as ever, says why there is no
# trace, and leaves the files as they are; so do the tools that read a trace.
. "$(dirname "$0")/../util.sh"

plain saxpy >expected
printf 'my diary\n' >diary

plant() { # NAME KIND
    case $2 in
    symlink) ln -s "$work/diary" "$1" ;;
    hardlink) ln diary "$1" ;;
    pipe) mkfifo "$1" ;;
    folder) mkdir "$1" ;;
    readable) (umask 022 && cp diary "$1" && chmod 644 "$1") ;;
    diary) (umask 077 && cp diary "$1") ;;
    stranger) cp diary "$1" && chmod 600 "$1" && chown 65534 "$1" ;;
    esac
}

kinds="symlink hardlink pipe folder readable diary"
[ "$(id -u)" != 0 ] || kinds="$kinds stranger"
for suffix in .lanes .new .types; do
    for kind in $kinds; do
        name=t.sbt$suffix
        plant $name $kind
        before=$(stat -c '%i %s %a %u %h %F' $name)
        timeout 60 tsrecord --emu -o t.sbt -- "$TEST_PROGRAMS/saxpy" >out 2>said || fail "$name, $kind: status $?"
        cmp expected out || fail "$name, $kind: other output"
        grep -q "$name.*left alone" said || fail "$name, $kind: $(cat said)"
        [ "$(stat -c '%i %s %a %u %h %F' $name)" = "$before" ] || fail "$name, $kind: changed"
        [ "$(cat diary)" = "my diary" ] || fail "$name, $kind: the diary is changed"
        [ ! -e t.sbt ] || fail "$name, $kind: a trace all the same"
        rm -rf $name
    done
done

# A trace with such a file beside it can be read.
tsrecord --emu -o t.sbt -- "$TEST_PROGRAMS/saxpy" >out 2>said
for kind in $kinds; do
    plant t.sbt.lanes $kind
    before=$(stat -c '%i %s %a %u %h %F' t.sbt.lanes)
    timeout 60 tsview t.sbt >view 2>said || fail "t.sbt.lanes, $kind: $(cat said)"
    [ "$(stat -c '%i %s %a %u %h %F' t.sbt.lanes)" = "$before" ] || fail "t.sbt.lanes, $kind: changed"
    rm -rf t.sbt.lanes
done
exit 0
