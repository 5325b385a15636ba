# SPDX-License-Identifier: Apache-2.0
# Options become TS_* variables, checked first; the output's path is absolute for the program.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
show() { tsrecord -q "$@" -- sh -c 'env | grep ^TS_ | sort | sed "s|$PWD|HERE|"'; }
show
show -o x.sbt --stacks=off --lane-size 4M
TS_STACKS=all show --threads=2
TS_STACKS=all show --stacks=off -o /tmp/a.sbt
tsrecord --stacks=maybe true || echo "exit $?"
tsrecord --lane-size=3 true || echo "exit $?"
tsrecord --apis=nonsense true || echo "exit $?"
tsrecord --capture=0 true || echo "exit $?"
tsrecord || echo "exit $?"
