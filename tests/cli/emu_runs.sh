# SPDX-License-Identifier: Apache-2.0
# A program that does not know of TraceSmith finds the software GPU, and keeps its exit status.
tracesmith emu -- "$BUILD/tests/programs/saxpy" | tail -n 1
tracesmith emu sh -c 'exit 5' || echo "exit $?"
tracesmith emu ./nothing-here || echo "exit $?"
