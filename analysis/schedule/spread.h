/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of a workload on another number of streams, where nothing but what they access puts them
 * into an order, and events in place of those of the program.
 */
#ifndef ANALYSIS_SCHEDULE_SPREAD_H
#define ANALYSIS_SCHEDULE_SPREAD_H

#include "analysis/dependencies/command_accesses.h"
#include "analysis/schedule/simulate.h"

#define TSM_SPREAD_STREAMS_MAX 64u

/* A wait of a command for an event behind another one. */
struct tsm_spread_wait {
    uint32_t from, to; /* places of commands */
    enum tsm_access_kind access;
};

struct tsm_spread {
    struct tsm_spread_wait *waits;
    size_t wait_count, wait_capacity;
    size_t event_count;                  /* commands behind which an event is recorded */
    size_t kinds[TSM_ACCESS_KIND_COUNT]; /* waits by the surest conflict that each is for */
};

/* Puts the commands of each context, in the recorded order, on `count` streams: each on the one
 * where it can begin first, by the times that it took in the prediction `s`; of several on that
 * where it needs the fewest waits. Waits of the host wait for the same commands as before, and for
 * those that went to the same streams before these. An event and a wait for it are a call of the
 * host each, as long as others take in virtual time. TSM_E_LIMIT: there are too many commands.
 * Finish it in any case. */
int tsm_spread(struct tsm_spread *out, struct tsm_workload *w,
               const struct tsm_command_accesses *accesses, const struct tsm_prediction *s,
               uint32_t count);
void tsm_spread_finish(struct tsm_spread *spread);

#endif
