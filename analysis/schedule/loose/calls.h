/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the host to APIs whose commands are loose (loose.h), in the order of their threads:
 * about 70 bytes a call.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_CALLS_H
#define ANALYSIS_SCHEDULE_LOOSE_CALLS_H

#include "analysis/schedule/loose/loose.h"

#include <stdbool.h>
#include <stddef.h>

/* Times are in ns after the session's start. */
struct tsm_loose_host_call {
    uint64_t seq, begin_ns, end_ns;  /* of one that had not returned, the end of the recording */
    const struct sbt_schema *schema; /* lives as long as the reader */
    uint32_t thread, stack;
    uint32_t order;         /* place in `sorted` */
    bool is_wait;           /* for the device */
    bool is_command;        /* it sends one */
    bool is_unfinished : 1; /* it had not returned when the recording ended */
};

struct tsm_loose_host_calls {
    struct tsm_loose_host_call *list; /* by seq */
    uint32_t *sorted;                 /* places by thread, begin */
    uint32_t *by_end;                 /* places by end */
    uint32_t *last; /* likewise, of each thread's last call alone, if it has returned */
    size_t count, capacity, last_count;
};

/* Reads the trace for calls to those APIs whose commands `l` has. Returns 0 or a negative
 * tsm_error. Finish it in any case. */
int tsm_loose_host_calls_make(struct tsm_loose_host_calls *out, const struct tsm_loose *l,
                              struct sbt_reader *reader);
void tsm_loose_host_calls_finish(struct tsm_loose_host_calls *calls);

/* Returns the place of a record's call, or TSM_WORKLOAD_NONE. */
uint32_t tsm_loose_host_calls_find(const struct tsm_loose_host_calls *calls, uint64_t seq);

/* Returns the call before it on its thread, or TSM_WORKLOAD_NONE. */
uint32_t tsm_loose_host_call_before(const struct tsm_loose_host_calls *calls, uint32_t call);

/* Returns the last call of that call's thread, it or one before it, that began before a time; or
 * TSM_WORKLOAD_NONE. */
uint32_t tsm_loose_host_call_at(const struct tsm_loose_host_calls *calls, uint32_t call,
                                uint64_t before_ns);

/* Returns the call of another thread that returned last, at `until_ns` at the latest; `is_last`: of
 * those that are the last ones of their threads, and later than at `after_ns`. Or
 * TSM_WORKLOAD_NONE. */
uint32_t tsm_loose_host_call_returned(const struct tsm_loose_host_calls *calls, uint32_t thread,
                                      bool is_last, uint64_t after_ns, uint64_t until_ns);

#endif
