# SPDX-License-Identifier: GPL-2.0
# After gl.sh, on the host: the guest's commands with what QEMU's log says of them.
# Usage: gl_host.sh TRACESMITH FOLDER
tracesmith=$1
folder=$2
count=0
failed=0
ok() { # STATUS TEXT
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok host $count - $2"; else echo "not ok host $count - $2"; failed=1; fi
}
[ -s "$folder/gl.sbt" ] || exit 0 # it has been said
"$tracesmith" view --kernel --host="$folder/qemu.log" "$folder/gl.sbt" > "$folder/view" 2> "$folder/said"
ok $? "tsview --host"
sed 's/^/# /' "$folder/said"
grep '^k job' "$folder/view" > "$folder/jobs"
head -2 "$folder/jobs" | sed 's/^/# /'
[ "$(grep -c 'host_taken .*host_done ' "$folder/jobs")" = "$(wc -l < "$folder/jobs")" ]
ok $? "the host's side of each, on its line"
# The host takes what was submitted, and is done before the guest hears of it.
awk '{ for (i = 1; i < NF; i++) if ($i ~ /^(submit|host_taken|host_done|end)$/) t[$i] = $(i + 1) + 0
       if (!(t["host_taken"] >= t["submit"] && t["host_done"] >= t["host_taken"] &&
             t["end"] >= t["host_done"])) exit 1 }' "$folder/jobs"
ok $? "in order"
sed 's/^[^:]*://' "$folder/qemu.log" > "$folder/untimed.log"
"$tracesmith" view --kernel --host="$folder/untimed.log" "$folder/gl.sbt" 2>&1 > /dev/null | grep -q 'msg timestamp=on'
ok $? "a log without times is refused, with the remedy"
exit $failed
