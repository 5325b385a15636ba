/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of a trace that never finished, and the cycles of those that wait for each other,
 * for tracesmith graph --hang.
 */
#ifndef TOOLS_SCHEDULE_HANG_VIEW_H
#define TOOLS_SCHEDULE_HANG_VIEW_H

#include "tracesmith/reader.h"

/* Prints the first `top` rows of each list (0: all); with `json` one object, schema "tshang/1".
 * Returns the exit status. */
int tsm_hang_view(struct sbt_reader *reader, size_t top, bool json);

#endif
