#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's pygpu and its own tests against numpy: its kernels are made at run time, compiled by NVRTC,
# linked, and run on two streams. Without the tests that take half a minute of processor time;
# `real_pygpu.sh all` runs all 21.
. "$(dirname "$0")/../util.sh"
tests=/usr/lib/python3/dist-packages/pygpu/tests
find_toolkit
[ -e "$toolkit/lib64/libnvrtc.so" ] && [ -e $tests/test_elemwise.py ] || exit 77
/usr/bin/python3 -c 'import pygpu, pytest' 2>import.err || exit 77

long='elemwise2_ops or divmod or red_big_array or red_array_basic or reduction_ops'
select="-k test_elemwise_f16 or test_ielemwise2_ops_array or not ($long)"
least=14
[ "${1:-}" != all ] || select='' least=21
# pygpu [VARIABLE=VALUE...]: runs its tests
pygpu() {
    env LD_LIBRARY_PATH="$TEST_EMU:$toolkit/lib64" DEVICE=cuda0 PYTHONDONTWRITEBYTECODE=1 "$@" \
        /usr/bin/python3 -m pytest -q -p no:cacheprovider "$select" \
        $tests/test_elemwise.py $tests/test_reduction.py $tests/test_basic.py
}
pygpu LD_PRELOAD="$preload" TS_OUTPUT=t.sbt TS_CHILDREN=0 >recorded || fail "$(cat recorded)"
passed=$(sed -n 's/^\([0-9]*\) passed.*/\1/p' recorded)
[ "${passed:-0}" -ge $least ] || fail "fewer than $least tests: $(cat recorded)"
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt --json
[ "$(field out checksum_count)" -ge 100 ] || fail "fewer than 100 readbacks: $(cat out)"
# Each test by itself sees that kernels do nothing, but for those that expect errors.
pygpu TS_EMU_NOOP=1 >noop 2>&1 && fail 'the kernels did nothing, and nobody saw'
grep -q '^[1-9][0-9]* failed' noop || fail "$(tail -n 20 noop)"
