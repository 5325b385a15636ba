/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose turn it is when a schedule is followed. The trace is read from its beginning; each command
 * or wait that is met there is carried out at once, or left for later, as the schedule says; what
 * was left has its turn as soon as all before it in the schedule is done. So nothing is carried out
 * before all other records that come before it in the trace.
 */
#ifndef REPLAY_SCHEDULE_ORDER_H
#define REPLAY_SCHEDULE_ORDER_H

#include "base/map.h"
#include "replay/schedule.h"

enum tsm_turn {
    TSM_TURN_NOW,
    TSM_TURN_LATER,
    TSM_TURN_NEVER, /* it is dropped */
};

/* Use that a command makes of memory of the host that the device can reach. */
enum tsm_host_use {
    TSM_HOST_NOT_USED,
    TSM_HOST_USED,     /* it may read or write such memory */
    TSM_HOST_FUNCTION, /* functions of the program wrote there in its place on the stream */
    TSM_HOST_USE_COUNT
};

/* Range of addresses in memory of the host, without `end`. */
struct tsm_host_span {
    uint64_t first, end;
};

struct tsm_schedule_turn {
    bool is_left; /* met, and not done */
    bool is_met;
    bool gives_result; /* its call returned with a result, which was met */
    bool is_over;      /* of one on a stream of the replay's own: it is known to be complete */
    enum tsm_host_use use;
    struct tsm_host_span span; /* of the use */
    uint64_t ordinal;          /* so many had been sent with it; 0: it is not sent */
};

struct tsm_schedule_order {
    const struct tsm_schedule *schedule;
    struct tsm_map by_seq;           /* seq + 1 -> index + 1 of the item */
    struct tsm_schedule_turn *turns; /* by item */
    size_t next;                     /* items before this one are done */
    size_t *left;                    /* items that were left, in order of seq; done ones stay */
    size_t left_count;
    size_t first_left[TSM_HOST_USE_COUNT]; /* in `left`: before it none is left that has the use */
};

/* Fails if two items name one record. Everything is freed by finish, also after a failure. */
int tsm_schedule_order_init(struct tsm_schedule_order *order, const struct tsm_schedule *schedule);
void tsm_schedule_order_finish(struct tsm_schedule_order *order);
/* Begins again. */
void tsm_schedule_order_rewind(struct tsm_schedule_order *order);

/* Returns the item of a record, or NULL. */
const struct tsm_schedule_item *tsm_schedule_order_find(const struct tsm_schedule_order *order,
                                                        uint64_t seq);
struct tsm_schedule_turn *tsm_schedule_order_turn_of(const struct tsm_schedule_order *order,
                                                     const struct tsm_schedule_item *item);

/* Returns the item that has its turn before the record `seq` is met, and takes it off, or NULL. */
const struct tsm_schedule_item *tsm_schedule_order_take(struct tsm_schedule_order *order,
                                                        uint64_t seq);
/* The item's record is met. */
enum tsm_turn tsm_schedule_order_meet(struct tsm_schedule_order *order,
                                      const struct tsm_schedule_item *item, enum tsm_host_use use);

/* Returns the item that has its turn next, or NULL. */
const struct tsm_schedule_item *tsm_schedule_order_next(struct tsm_schedule_order *order);

/* Returns the first record's item among those that are left and have at least that use, or NULL. */
const struct tsm_schedule_item *tsm_schedule_order_left(struct tsm_schedule_order *order,
                                                        enum tsm_host_use use);
/* Returns the first one that may use memory in the span, or NULL. Looks at a few thousand
 * that are left; of more, the next one may be anywhere. */
const struct tsm_schedule_item *tsm_schedule_order_left_in(struct tsm_schedule_order *order,
                                                           const struct tsm_host_span *span);

#endif
