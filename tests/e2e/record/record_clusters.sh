#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Clusters by attributes of launches, functions and nodes of graphs: the replay has the same, whatever the
# order of their blocks.
. "$(dirname "$0")/../util.sh"
export TS_EMU_CC=9.0
same_output ../emu/emu_cluster_test
tracesmith coverage t.sbt | grep -q 'every call of this trace is modelled'
status 0 replay t.sbt
grep -q 'checksums equal' out
TS_EMU_SCHEDULE=reverse status 0 replay t.sbt
TS_EMU_NOOP=1 status 1 replay t.sbt
