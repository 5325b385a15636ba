/* SPDX-License-Identifier: Apache-2.0
 *
 * Outcomes of loose commands (loose.h), in three files: which have finished, or failed
 * (outcomes.c); which values of objects the others wait for (values.c); which of them
 * wait for each other (hang.c).
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_OUTCOMES_H
#define ANALYSIS_SCHEDULE_LOOSE_OUTCOMES_H

#include "analysis/schedule/loose/loose.h"

/* Finds all of it, reading the trace again where commands have not finished. Returns 0 or a
 * negative tsm_error, as do the others. */
int tsm_loose_outcomes_find(struct tsm_loose *l, struct sbt_reader *reader);

/* Finds the waits and their bringers. */
int tsm_loose_values_find(struct tsm_loose *l, struct sbt_reader *reader);

/* Finds nodes and cycles, and with them what hinders each command that has not finished. */
int tsm_loose_hang_find(struct tsm_loose *l);

/* Tests whether one of the recorder's own records says that something is not in the trace. */
static inline bool tsm_loose_is_unseen(const struct sbt_record *record)
{
    const uint32_t call = SBT_TYPE_CALL(record->type);

    return call == SBT_CORE_LOST || call == SBT_CORE_STOPPED || call == SBT_CORE_FILTERED ||
           call == SBT_CORE_UNMODELLED;
}

static inline bool tsm_loose_has_finished(const struct tsm_loose *l, uint32_t command)
{
    return l->commands[command].outcome.outcome == TSM_OUTCOME_FINISHED;
}

#endif
