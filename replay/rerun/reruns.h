/* SPDX-License-Identifier: Apache-2.0
 *
 * Reruns: further replays of a trace, of which it is known only after the first one whether they
 * are wanted. Drivers do not survive a fork, so the process that carries them out is forked before,
 * and waits.
 */
#ifndef REPLAY_RERUN_RERUNS_H
#define REPLAY_RERUN_RERUNS_H

#include <stdbool.h>
#include <sys/types.h>

#include "replay/rerun/explain.h"
#include "replay/rerun/part_memory.h"

struct tsm_reruns {
    pid_t pid; /* 0: there is none */
    int socket;
};

/* Tests whether reruns can say something of commands of the API of that name: only where all of a
 * command's work is on its stream, which another order can show. */
bool tsm_reruns_are_for(const char *api);

/* Forks the process. Nothing may have been replayed in this one yet; reader and options are used
 * as they are now. Returns 0 or a negative tsm_error. */
int tsm_reruns_begin(struct tsm_reruns *r, struct sbt_reader *reader,
                     const struct tsm_replay_options *options);

/* Ask the process, and wait for its answer, which may take minutes. Return 0 or a negative
 * tsm_error. */
int tsm_reruns_explain(struct tsm_reruns *r, struct tsm_explanation *out,
                       const struct tsm_difference *plain);
int tsm_reruns_part_memory(struct tsm_reruns *r, struct tsm_part_memory *out);

/* Ends the process, if there is one. */
void tsm_reruns_end(struct tsm_reruns *r);

#endif
