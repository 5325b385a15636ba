# SPDX-License-Identifier: Apache-2.0
# Findings are the exit status when TS_EMU_EXIT asks for it: of that process only, with its output and its trace whole.
export TS_TEST_PTX="$TESTS/../programs/kernels.ptx" TS_EMU_CHECK=all
status()
{
    "$@" >out 2>err && got=0 || got=$?
    echo "$got: $(grep -c . out) lines"
}
wrong=$BUILD/tests/programs/wrong
status tracesmith emu "$wrong" uninit
for exit in 0 99 255; do
    TS_EMU_EXIT=$exit status tracesmith emu "$wrong" uninit
    TS_EMU_EXIT=$exit status tracesmith emu "$wrong" uninit fixed
done
TS_EMU_EXIT=300 status tracesmith emu "$wrong" uninit
TS_EMU_EXIT=99 status tracesmith emu sh -c "$wrong uninit; exit 3"
TS_EMU_EXIT=99 TS_EMU_CHECK=race status tracesmith emu "$wrong" uninit
