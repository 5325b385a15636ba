#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Rust crates: their declarations are those of the headers, and they do what docs/rust.md says.
. "$(dirname "$0")/../e2e/util.sh"
# Debian's is the oldest that they promise to work with.
cargo=/usr/bin/cargo
[ -x $cargo ] || cargo=$(command -v cargo) || exit 77
[ "$cargo" = /usr/bin/cargo ] && PATH=/usr/bin:$PATH
"$cargo" --version >/dev/null 2>&1 || exit 77

record "$work/t.sbt" pipeline 4 >/dev/null
TS_EMU_TIME=virtual TS_GPU_TIME=1 record "$work/v.sbt" pipeline 4 >/dev/null
record "$work/other.sbt" pipeline 3 >/dev/null
record "$work/wrong.sbt" wrong atomic >/dev/null
export TEST_TRACE="$work/t.sbt" TEST_TIMED="$work/v.sbt" TEST_OTHER="$work/other.sbt" TEST_WRONG="$work/wrong.sbt"
export TEST_DRIVER="$TEST_EMU/libcuda.so.1"
export TEST_FILES="$TEST_SOURCE/tests/fuzz/corpus:$TEST_SOURCE/tests/golden:$TEST_SOURCE/tests/golden/bad"

export TRACESMITH_LIB_DIR="$TEST_BIN/../include" LD_LIBRARY_PATH="$TEST_BIN/../include"
export CARGO_TARGET_DIR="$work/target" CARGO_HOME="$work/cargo" CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
cd "$TEST_SOURCE/bindings/rust"
"$cargo" test --offline --locked --quiet --workspace >"$work/out" 2>"$work/err" || {
    cat "$work/out" "$work/err" >&2
    fail "cargo test"
}
TS_EMU_NOOP=1 "$cargo" test --offline --locked --quiet --test verdicts -- --ignored >"$work/noop" 2>>"$work/err" ||
    fail "a wrong device: $(cat "$work/noop" "$work/err")"
grep -q '^test result: ok. 1 passed' "$work/noop" || fail "a wrong device: $(cat "$work/noop")"
! grep -q 'warning' "$work/err" || fail "$(cat "$work/err")"
grep -q '^test result: ok. 7 passed' "$work/out" || fail "tests were left out: $(cat "$work/out")"
grep -q '^test result: ok. 1 passed' "$work/out" || fail "verdicts were left out: $(cat "$work/out")"
grep -q '^test result: ok. 4 passed' "$work/out" || fail "examples were left out: $(cat "$work/out")"

"$CARGO_TARGET_DIR/debug/examples/layout" >"$work/layout"
python3 "$TEST_SOURCE/tests/bindings/layout.py" "$TEST_SOURCE/include" ${CC:-cc} <"$work/layout" || fail "declarations"
sed 's/^struct sbt_record stack [0-9]*/struct sbt_record stack 32/' "$work/layout" >"$work/wrong"
! python3 "$TEST_SOURCE/tests/bindings/layout.py" "$TEST_SOURCE/include" ${CC:-cc} <"$work/wrong" >/dev/null ||
    fail "a wrong declaration was not seen"
[ "$("$CARGO_TARGET_DIR/debug/examples/kernels" "$TEST_TIMED")" = '9248 ns in 4 launches of mix
8608 ns in 4 launches of copy' ] || fail "kernels"
