/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded order: which work the barriers of a command buffer, or of a whole submit, put into
 * order. It is made once, and stands for the calls from then on. Sets of stages are bits; barriers
 * and stages are those of api/barriers.h.
 *
 * Later work waits for earlier work by its stages. Of work on one stage the last has the fewest
 * barriers behind it, and the first has the fewest before it, so that these two say all.
 */
#ifndef ANALYSIS_DEPENDENCIES_RECORDED_ORDER_H
#define ANALYSIS_DEPENDENCIES_RECORDED_ORDER_H

#include "api/barriers.h"

/* Goes through the stages of a set. */
#define TSM_EACH_STAGE(stage, set)                                                                 \
    for (unsigned rest_##stage = (set), stage;                                                     \
         rest_##stage && (stage = (unsigned)__builtin_ctz(rest_##stage), true);                    \
         rest_##stage &= rest_##stage - 1)

/* Stages of later work that wait for work, by the stage of that. */
struct tsm_held {
    uint16_t list[TSM_STAGE_COUNT];
};

/* A zeroed struct has nothing in it. */
struct tsm_recorded_order {
    uint16_t work;               /* stages that its work runs on */
    bool is_inside;              /* of a pass: barriers say nothing outside */
    bool is_unknown;             /* some of its work is not known */
    bool has_barriers;           /* some that say something */
    struct tsm_held held;        /* of work before it: what waits for that when it is behind it */
    struct tsm_held first, last; /* of the first, and last, work on a stage of its own */
    /* Stages of work before it that the first, or last, work on a stage of its own waits for. */
    uint16_t waits_first[TSM_STAGE_COUNT], waits_last[TSM_STAGE_COUNT];
};

/* Adds what a call records. */
void tsm_recorded_order_work(struct tsm_recorded_order *o, uint16_t stages);
void tsm_recorded_order_barriers(struct tsm_recorded_order *o, const struct tsm_barrier *list,
                                 size_t count);

/* Adds all that is in another one. */
void tsm_recorded_order_append(struct tsm_recorded_order *o, const struct tsm_recorded_order *with);

/* Adds work of which nothing is known. */
void tsm_recorded_order_unknown(struct tsm_recorded_order *o);

/* Stages of work that waits for earlier work. */
struct tsm_recorded_waiting {
    uint16_t whole; /* all work on these, for all of it */
    uint16_t part;  /* some work on these, for all of it */
    uint16_t begun; /* all work on these, for some of it */
    uint16_t some;  /* some work on these, for some of it */
};

/* Tells how the work in `o` waits for earlier work on the stages in `work`; `first`, `last`: what
 * waits at the begin of `o` for the first, and last, on each. */
struct tsm_recorded_waiting tsm_recorded_order_waiting(const struct tsm_recorded_order *o,
                                                       uint16_t work, const struct tsm_held *first,
                                                       const struct tsm_held *last);

/* Changes what later work waits for, of work on the stages in `work` before `o`, to what waits
 * behind it. */
void tsm_recorded_order_pass(const struct tsm_recorded_order *o, uint16_t work,
                             struct tsm_held *held);

#endif
