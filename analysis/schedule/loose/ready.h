/* SPDX-License-Identifier: Apache-2.0
 *
 * Says what each loose command (loose.h), and each wait of the host, waited for last, as far as
 * times are known. Commands begin in the order of their stream: one waits as long as the command
 * before it does.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_READY_H
#define ANALYSIS_SCHEDULE_LOOSE_READY_H

#include "analysis/schedule/loose/loose.h"
#include "analysis/schedule/states.h"

/* The last thing that was waited for. A step is a command's place, or the command count and the
 * place of a call of the host. */
struct tsm_loose_ready {
    uint64_t ns; /* that it ended; 0: there is none */
    enum tsm_state_reason reason;
    uint32_t by, step;        /* command, or call of the host; TSM_WORKLOAD_NONE: none */
    uint32_t from, from_step; /* the same; where `by` is the command before that waits itself, what
                                 that waited for */
    uint32_t unsure;    /* command of which it is not known that it had ended before; NONE: none */
    uint64_t before_ns; /* `ns` of the command before it on its stream */
    bool has_object;    /* it waits for objects; of a call of the host, for anything ... */
    bool is_redundant;  /* ... and other edges say all of that, too */
};

struct tsm_loose_readiness {
    const struct tsm_loose *l;
    struct tsm_loose_ready *list; /* by command */
    /* By place in `sorted`, of commands of the stream up to it: */
    uint32_t *last_end; /* place of the one that ended last; NONE: none has a time */
    uint32_t *sure_end; /* the same, of those whose end is not just the latest that it can be */
    uint32_t *untimed;  /* place of the last one with work that has no time; NONE: all have */
};

/* Returns 0 or a negative tsm_error. Finish it in any case. */
int tsm_loose_readiness_make(struct tsm_loose_readiness *out, const struct tsm_loose *l);
void tsm_loose_readiness_finish(struct tsm_loose_readiness *r);

/* Has commands that a ring took (is_taken) begin when what they had to wait for had ended. Returns
 * 0 or a negative tsm_error. */
int tsm_loose_settle_taken(struct tsm_loose *l);

/* Says what a call of the host waited for, by its record and its begin. */
struct tsm_loose_ready tsm_loose_ready_of_call(const struct tsm_loose_readiness *r, uint64_t seq,
                                               uint64_t call_ns);

/* Returns the one of two commands that ended later; each may be NONE. */
uint32_t tsm_loose_later_end(const struct tsm_loose *l, uint32_t a, uint32_t b);

/* Returns the record of a step. */
uint64_t tsm_loose_step_seq(const struct tsm_loose *l, uint32_t step);

#endif
