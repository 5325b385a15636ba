# SPDX-License-Identifier: Apache-2.0
# TERM reaches the program, which may end as it likes.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
tsrecord -q sh -c 'trap "echo got TERM; exit 3" TERM; echo $$ > pid; while :; do sleep 0.05; done' &
recorder=$!
while [ ! -s pid ]; do sleep 0.05; done
sleep 0.1
kill -TERM $recorder
wait $recorder || echo "exit $?"
