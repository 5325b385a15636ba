/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of a trace's commands, streams, engines and devices, for tsview --states.
 */
#ifndef TOOLS_SCHEDULE_STATES_VIEW_H
#define TOOLS_SCHEDULE_STATES_VIEW_H

#include "tracesmith/reader.h"

/* Prints the intervals; with `json` one object, schema "tsstates/1". Returns the exit
 * status. */
int tsm_states_view(struct sbt_reader *reader, bool json);

#endif
