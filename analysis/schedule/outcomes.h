/* SPDX-License-Identifier: Apache-2.0
 *
 * Outcomes: which commands of a workload have finished, which one failed, and which never finished,
 * as far as the trace says so. A command has finished when it has a time, when a call told the host
 * so, or when one behind it on its stream has.
 */
#ifndef ANALYSIS_SCHEDULE_OUTCOMES_H
#define ANALYSIS_SCHEDULE_OUTCOMES_H

#include "analysis/schedule/failures.h"
#include "analysis/schedule/workload.h"

enum tsm_outcome {
    TSM_OUTCOME_FINISHED,
    TSM_OUTCOME_UNFINISHED,      /* nothing says that it has */
    TSM_OUTCOME_FAILED,          /* no other command can have */
    TSM_OUTCOME_MAY_HAVE_FAILED, /* it or others */
};

/* Reasons for which a command has not ended, as far as is known. */
enum tsm_hindrance {
    TSM_HINDRANCE_UNKNOWN, /* nothing: perhaps it has finished, and nobody waited for it */
    TSM_HINDRANCE_WAITED,  /* nothing: it ran, or was about to, while a wait of the host went on
                              when the recording ended, or its ring took it and told of no end */
    TSM_HINDRANCE_STREAM,  /* the command before it on its stream has not finished */
    TSM_HINDRANCE_DEFAULT, /* a default stream, or what that waits for */
    TSM_HINDRANCE_EVENT,
    TSM_HINDRANCE_SIGNAL,  /* it waits for a semaphore's or signal's value */
    TSM_HINDRANCE_VALUE,   /* it waits for a value in memory */
    TSM_HINDRANCE_FAILURE, /* its context has failed */
};

struct tsm_command_outcome {
    enum tsm_outcome outcome;
    enum tsm_hindrance hindrance;
    uint32_t by; /* place of the command; TSM_WORKLOAD_NONE: none, or not known */
};

struct tsm_outcomes {
    struct tsm_command_outcome *list; /* by those of the workload */
    struct tsm_failures failures;
    size_t unfinished_count; /* commands that have not finished, or failed */
    uint64_t last_ns;        /* end of the last call */
};

/* Reads the trace again. Finish it in any case. */
int tsm_outcomes_make(struct tsm_outcomes *out, const struct tsm_workload *w,
                      struct sbt_reader *reader);
void tsm_outcomes_finish(struct tsm_outcomes *outcomes);

/* "stream", "event", "running"...: words of JSON and tables. */
const char *tsm_hindrance_name(enum tsm_hindrance hindrance);

#endif
