/* SPDX-License-Identifier: Apache-2.0
 *
 * States of all commands of a trace: of those that a simulation puts in order, and of loose ones.
 */
#ifndef TOOLS_SCHEDULE_STATE_LISTS_H
#define TOOLS_SCHEDULE_STATE_LISTS_H

#include "analysis/schedule/loose/loose.h"
#include "analysis/schedule/states.h"

/* Commands that a simulation has put in order, and loose ones, each with a list of states. */
struct tsm_state_lists {
    struct sbt_reader *reader;
    struct tsm_workload w;
    struct tsm_prediction s; /* at the recorded times */
    struct tsm_outcomes outcomes;
    struct tsm_states states;
    struct tsm_loose loose;
    struct tsm_states loose_states;
    uint64_t begin_ns, end_ns; /* that all states cover */
};

/* Makes the lists of a zeroed struct with a reader. Finish them in any case. */
int tsm_state_lists_make(struct tsm_state_lists *v);
void tsm_state_lists_finish(struct tsm_state_lists *v);

/* Says of how many commands something is not known. */
void tsm_state_lists_note(struct tsm_state_lists *v);

static inline const struct tsm_states *tsm_state_lists_of(const struct tsm_state_lists *v,
                                                          bool is_loose)
{
    return is_loose ? &v->loose_states : &v->states;
}

/* Returns the record of a command, or of a step, of one of the lists. */
uint64_t tsm_state_lists_seq(const struct tsm_state_lists *v, bool is_loose, uint32_t command);
uint64_t tsm_state_lists_step(const struct tsm_state_lists *v, bool is_loose, uint32_t step);

/* Returns when a command began, or was sent where that is not known. */
uint64_t tsm_state_lists_begin(const struct tsm_state_lists *v, bool is_loose, uint32_t command);

/* Returns a command's kernel, or its call. */
const char *tsm_state_lists_name(const struct tsm_state_lists *v, bool is_loose, uint32_t command);

/* Names what an interval is of: "stream 2", "command 12", "cuda 0 kernels", "cuda 0". */
void tsm_state_lists_subject(const struct tsm_state_lists *v, bool is_loose,
                             const struct tsm_state_interval *i, char *out, size_t size);

#endif
