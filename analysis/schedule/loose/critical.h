/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical path of loose commands (loose.h) and the calls of the host: the chain of work and
 * waits that led to the last end, by recorded times and the edges of the graph. Nothing is
 * simulated. Also what devices waited for while they did nothing, and how long single waits took.
 */
#ifndef ANALYSIS_SCHEDULE_LOOSE_CRITICAL_H
#define ANALYSIS_SCHEDULE_LOOSE_CRITICAL_H

#include "analysis/schedule/critical.h"
#include "analysis/schedule/loose/calls.h"
#include "analysis/schedule/loose/ready.h"

/* Pieces of a path are next to each other in time, and cover it. */
struct tsm_loose_piece {
    enum tsm_cause cause;
    uint64_t begin_ns, end_ns;
    uint32_t command; /* of CALL, WAIT and HOST TSM_WORKLOAD_NONE */
    uint32_t call;    /* place of the host's call, of the same; of others TSM_WORKLOAD_NONE */
};

struct tsm_loose_path {
    struct tsm_loose_piece *pieces; /* of a critical path the last one first */
    size_t count, capacity;
};

/* All that the functions below look at. */
struct tsm_loose_schedule {
    const struct tsm_loose *l;
    struct tsm_loose_host_calls calls;
    struct tsm_loose_readiness ready;
    uint32_t *before;          /* by command: the one before it on its stream that has a time and
                                  work, or NONE */
    uint64_t begin_ns, end_ns; /* of the first call or command to the last end */
    uint32_t last_command, last_call; /* one of them ends last; the other is NONE */
};

/* Reads the trace again for its calls. Finish it in any case. */
int tsm_loose_schedule_make(struct tsm_loose_schedule *out, const struct tsm_loose *l,
                            struct sbt_reader *reader);
void tsm_loose_schedule_finish(struct tsm_loose_schedule *s);

/* Finds the chain that ends with the last end. Finish it in any case. */
int tsm_loose_path_find(struct tsm_loose_path *out, const struct tsm_loose_schedule *s);
void tsm_loose_path_finish(struct tsm_loose_path *path);

/* Says for each time in which nothing ran on a device what it waited for: pieces as above, of the
 * chain that led to the command that began next. While a command may have run of which no time is
 * known, the cause is UNTIMED or UNFINISHED. */
int tsm_loose_idle(struct tsm_loose_path *out, const struct tsm_loose_schedule *s, uint32_t device);

/* A wait of the host, or of a command for what another one, or the host, does. */
struct tsm_loose_wait_cost {
    uint64_t seq, waited_ns; /* so long it stood still for it */
    uint32_t command, call;  /* that waited; the other one is TSM_WORKLOAD_NONE */
    uint32_t by, by_step;    /* that ended last, as of ready.h; NONE: not known */
    bool has_object;         /* is_redundant says something */
    bool is_redundant;       /* other edges say the same */
};

struct tsm_loose_wait_costs {
    struct tsm_loose_wait_cost *list; /* the longest first */
    size_t count, capacity;
};

/* Finds waits that took some time. Finish them in any case. */
int tsm_loose_wait_costs_find(struct tsm_loose_wait_costs *out, const struct tsm_loose_schedule *s);
void tsm_loose_wait_costs_finish(struct tsm_loose_wait_costs *costs);

#endif
