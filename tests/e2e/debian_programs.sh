#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ordinary programs that know nothing of GPUs run unchanged under the preload library.
. "$(dirname "$0")/util.sh"

printf 'one\ntwo\nthree\n' >input
count=0
same() {
    a=0
    b=0
    "$@" >plain.out 2>plain.err <input || a=$?
    LD_PRELOAD=$TEST_CAPTURE TS_OUTPUT=t.sbt "$@" >record.out 2>record.err <input || b=$?
    [ $a = $b ] || fail "$*: status $b, was $a"
    cmp plain.out record.out || fail "$*: other output"
    cmp plain.err record.err || fail "$*: other messages"
    [ ! -e t.sbt ] || fail "$*: a trace without a single call"
    count=$((count + 1))
}
try() {
    command -v "$1" >/dev/null 2>&1 || return 0
    same "$@"
}
try cat; try tac; try sort; try uniq -c; try wc; try head -n 1; try tail -n 1; try cut -c 1-2
try tr a-z A-Z; try sed s/o/0/; try grep -n t; try awk '{print NR, $0}'; try nl; try fold -w 2
try paste - -; try rev; try od -c; try md5sum; try sha256sum; try cksum; try base64; try seq 100
try factor 123456789; try expr 6 '*' 7; try printf '%05d\n' 42; try echo hello; try ls /usr/include
try stat -c %s input; try du -b input; try find . -name input; try xargs echo; try env -i A=b env
try id -u; try uname -s; try pwd; try basename /a/b; try dirname /a/b; try readlink -f input
try true; try false; try test -f input; try sh -c 'exit 7'; try bash -c 'echo $((2 ** 10)); kill -9 $$'
try dash -c 'cat; exit 3'; try perl -e 'print join(",", map { $_ ** 2 } 1 .. 10), "\n"; exit 5'
try python3 -c 'import subprocess, sys; print(subprocess.run(["echo", "x"]).returncode); sys.exit(9)'
try gzip -c; try xz -c; try zstd -c; try tar cf - input; try bc; try jq -n '[1,2]'
try sqlite3 :memory: 'select 6 * 7'; try file input; try gcc --version; try ld --version
try make --version; try git --version; try openssl version; try diff input input; try cmp input input
try timeout 5 sleep 0.01; try nice echo n; try nohup echo n; try setsid -w echo s; try tee /dev/null
[ "$count" -ge 50 ] || fail "only $count programs are installed here"
echo "$count programs"
