# SPDX-License-Identifier: Apache-2.0
# The program's exit status, output and input are its own; what ends it is told.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
status() { "$@" && echo "exit 0" || echo "exit $?"; }
status tsrecord true
status tsrecord -q sh -c 'echo out; echo err >&2; exit 7'
echo input | tsrecord -q cat
status tsrecord sh -c 'kill -SEGV $$'
status tsrecord -q sh -c 'kill -TERM $$'
status tsrecord ./nothing-here
status tsrecord nothing-here
touch plain; status tsrecord ./plain
