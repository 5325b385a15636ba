#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A thousand streams alive at once, each of which waits for the one before.
. "$(dirname "$0")/util.sh"
same_output streams 1000
status 0 replay t.sbt
status 3 replay t.sbt --streams 700 # it reads nothing back
