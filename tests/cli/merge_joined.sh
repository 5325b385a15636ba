# SPDX-License-Identifier: Apache-2.0
# A command and its ring job are one request; who waited is the call that waited when it completed.
merge() { tracesmith merge -q "$@" || echo "exit $?"; }
python3 "$TESTS/kernel_records.py" joined > records
make_trace kernel t.sbt records
cat > cpu << 'END'
  <idle>-0     [000] d..2. 0.000900000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=4711 next_prio=120
     app-4711  [000] d..2. 0.001010050: sched_switch: prev_comm=app prev_pid=4711 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
  <idle>-0     [000] dNh4. 0.001010250: sched_wakeup: comm=app pid=4711 prio=120 target_cpu=000
  <idle>-0     [000] d..2. 0.001010300: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=4711 next_prio=120
     app-4711  [000] d..2. 0.001900000: sched_switch: prev_comm=app prev_pid=4711 prev_prio=120 prev_state=X ==> next_comm=swapper/0 next_pid=0 next_prio=120
END
merge --list t.sbt cpu | tail -n +16
merge --json t.sbt cpu | grep -oE '"call":"toySend".*"block_io":[a-z0-9]*' | head -c 470
echo
merge --perfetto=- t.sbt cpu | grep -oE '\{"ph":"[sf]"[^}]*\}'

# A thread came to another CPU unseen between these two: it is not this one while this one runs.
other() {
    printf '  <idle>-0 [001] d..2. %s: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=5 next_prio=120\n' $1
    printf '       c-6 [001] d..2. %s: sched_switch: prev_comm=c prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n' $2
}
for gap in '0.000950000 0.001008000' '0.000950000 0.001010100'; do
    { cat cpu; other $gap; } | sort -k4,4 > gaps
    merge t.sbt gaps | grep -E '^(off_cpu|block_io) '
done
