# SPDX-License-Identifier: Apache-2.0
# Functions, source files and lines come from the files that the program had mapped, unless they
# have another build-id now: then only offsets are told.
make_trace self t.sbt
tsview --stacks --range=1: t.sbt | grep make_trace+ | head -n 2
make_trace stranger t.sbt
tsview --stacks --range=1: t.sbt | grep make_trace+ | head -n 2
