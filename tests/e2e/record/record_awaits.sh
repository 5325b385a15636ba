#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of the program that wait for what it does next: checksums and checkpoints, for which all calls
# are held back and the GPU is waited for, do not stop the program for ever.
. "$(dirname "$0")/../util.sh"
for where in stream destroyed value graph shared; do
    for setting in TS_CHECKSUM=off TS_CHECKSUM=sync TS_CHECKSUM=command TS_CHECKPOINT=1; do
        export "${setting?}"
        same_output awaits $where
        unset TS_CHECKSUM TS_CHECKPOINT
        status 0 replay t.sbt
    done
done
