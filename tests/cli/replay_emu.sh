# SPDX-License-Identifier: Apache-2.0
# Record and replay on the software GPU: one line of data, the device on stderr, verdict as status.
[ -e "$BUILD/interpose/libts_capture.so" ] && [ -z "$TEST_SANITIZED" ] || exit 77
export TS_TEST_PTX="$BUILD/tests/programs/kernels.ptx"
tsrecord -q --emu -o t.sbt "$BUILD/tests/programs/saxpy"
tsreplay --device=emu t.sbt
tsreplay -q --device=emu --dry-run t.sbt
tsreplay -q --device=emu --json t.sbt | cut -d, -f1-4
tsrecord -q --emu -o p.sbt "$BUILD/tests/programs/prints" | sort
tsreplay -q --device=emu --json p.sbt 2>/dev/null | python3 -c "import json, sys; print(json.load(sys.stdin)['schema'])"
tsreplay -q --device=emu --check=2 t.sbt
tsreplay -q --library=/nowhere/libcuda.so.1 t.sbt || echo "exit $?"
tsreplay -q --screenshot=1 t.sbt || echo "exit $?"
tsreplay -q --replace-shader=0123456789=t.sbt t.sbt || echo "exit $?"
tsview --tree t.sbt
