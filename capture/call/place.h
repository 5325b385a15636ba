/* SPDX-License-Identifier: Apache-2.0
 *
 * A call's record in its lane: where it is made, and its key.
 */
#ifndef CAPTURE_CALL_PLACE_H
#define CAPTURE_CALL_PLACE_H

#include "capture/session.h"

/* A key for this lane's next record: `ticks`, or a little later. The processor may read the TSC
 * before what precedes it is done (it orders memory, not rdtsc), so stamps are made to rise where
 * order depends on them: within a lane, and on a stream. */
static inline uint64_t tsm_lane_key(struct tsm_lane *lane, uint64_t ticks)
{
    if (ticks < lane->last_key)
        ticks = lane->last_key;
    lane->last_key = ticks;
    return ticks;
}

/* The record of a call that has begun is made in place, at its lane's head. Before anything else is
 * reserved there, it has to make way. */
void tsm_call_make_way(const struct tsm_lane *lane);

static inline struct tsm_record_entry *tsm_call_record(const struct tsm_call *call)
{
    return (struct tsm_record_entry *)(void *)call->slots - 1;
}

#endif
