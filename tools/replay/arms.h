/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsreplay --check`: one trace, replayed in arms that differ from the first run in one thing. What
 * differs between two arms names the cause.
 */
#ifndef TOOLS_REPLAY_ARMS_H
#define TOOLS_REPLAY_ARMS_H

#include "tools/text/json_out.h"
#include "tools/text/symbol.h"
#include "tracesmith/replay.h"

/* Prints a line for each arm, or members of the object `json`. Returns the exit status: an enum
 * tsm_verdict. */
int tsm_arms_run(struct sbt_reader *reader, struct tsm_symbols *symbols,
                 const struct tsm_replay_options *options, unsigned repeat_count,
                 struct tsm_json *json);

#endif
