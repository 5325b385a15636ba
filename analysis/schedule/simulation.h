/* SPDX-License-Identifier: Apache-2.0
 *
 * State of a simulation, and what its files share: simulate.c lets threads and devices take turns,
 * waiting.c says what waits for what.
 */
#ifndef ANALYSIS_SCHEDULE_SIMULATION_H
#define ANALYSIS_SCHEDULE_SIMULATION_H

#include "analysis/schedule/simulate.h"
#include "base/map.h"

#define TSM_SIMULATION_RECENT                                                                      \
    64u /* kernels of a device, among which the one is looked for that another waits for */

/* Something waits for the end of a part. */
struct tsm_simulated_wait {
    uint32_t who;  /* part, or thread with TSM_PREDICTION_STEP */
    uint32_t next; /* in the list of the part */
    enum tsm_prediction_bound bound;
};

struct tsm_simulated_part {
    uint32_t waiting; /* first of the list; TSM_WORKLOAD_NONE: none */
    uint32_t parked;  /* first of the threads that go on when it is sent */
    uint32_t left;    /* parts that it waits for itself */
};

/* A value in memory. */
struct tsm_simulated_cell {
    uint32_t written; /* value that was written last; TSM_WORKLOAD_NONE: none yet */
    uint32_t waiting; /* first of the values that parts wait for */
};

struct tsm_simulated_stream {
    uint64_t end_ns;     /* of what has ended */
    uint32_t end_part;   /* ... and came last */
    uint32_t last;       /* part that was sent last; TSM_WORKLOAD_NONE: none */
    uint32_t first_node; /* of nodes at the end, which do not wait for each other */
    uint32_t owner;      /* place */
    uint32_t left;       /* parts that are sent and not done */
    uint32_t busy_place; /* among the busy ones, if any are left */
    bool is_recent;
};

struct tsm_simulated_end {
    uint64_t ns;
    uint32_t part; /* TSM_WORKLOAD_NONE: nothing has ended */
};

/* Streams of one context. */
struct tsm_simulated_owner {
    uint64_t key;
    struct tsm_simulated_end end; /* the latest of all that has ended */
    uint32_t *defaults;           /* streams */
    uint32_t *recent;             /* streams that join these, and have sent since one of them has */
    size_t default_count, default_capacity, recent_count, recent_capacity;
};

struct tsm_simulated_heap {
    uint32_t *list;
    size_t count, capacity;
};

struct tsm_simulated_thread {
    uint64_t clock_ns;
    uint32_t step;   /* the next one */
    uint32_t left;   /* parts that it waits for */
    uint64_t end_ns; /* of those that have ended */
    uint32_t by;     /* ... the last */
    uint32_t next_parked;
};

struct tsm_simulated_device {
    struct tsm_device_model model;
    uint32_t on_engine[3][TSM_MACHINE_ENGINES_MAX]; /* part that ran there last */
    uint32_t kernels[TSM_SIMULATION_RECENT];
    size_t kernel_count;
};

struct tsm_simulation {
    const struct tsm_workload *w;
    struct tsm_workload *learning; /* NULL: nothing is calibrated */
    struct tsm_prediction *out;
    struct tsm_simulated_part *parts;
    struct tsm_simulated_stream *streams;
    struct tsm_simulated_thread *threads;
    struct tsm_simulated_device *devices;
    struct tsm_simulated_wait *waitings;
    size_t waiting_count, waiting_capacity;
    struct tsm_simulated_cell *cells;
    uint32_t *next_waiting; /* of a value that a part waits for: of the same cell */
    uint32_t *host_waiting; /* values that the program writes */
    size_t host_waiting_count;
    struct tsm_simulated_heap ready;   /* parts */
    struct tsm_simulated_heap callers; /* threads that have a call to make */
    struct tsm_simulated_end end;      /* the latest of all */
    uint32_t *busy;                    /* streams with parts that are not done */
    size_t busy_count;
    struct tsm_map owner_places; /* key -> place + 1 */
    struct tsm_simulated_owner *owners;
    size_t owner_count, owner_capacity;
};

static inline const struct tsm_workload_command *
tsm_simulation_command(const struct tsm_simulation *s, uint32_t part)
{
    return &s->w->commands[s->w->parts[part].command];
}

/* Functions that return false are out of memory, or there are too many waits. */

/* Makes a part wait for another one. */
bool tsm_simulation_wait_part(struct tsm_simulation *s, uint32_t part, uint32_t for_part,
                              enum tsm_prediction_bound bound);
/* Makes a thread wait for a part. */
bool tsm_simulation_wait_thread(struct tsm_simulation *s, uint32_t thread, uint32_t for_part);
/* Makes a part, or with WAIT a thread, wait for what a stream was given last. */
bool tsm_simulation_wait_stream(struct tsm_simulation *s, uint32_t who, uint32_t stream,
                                enum tsm_prediction_bound bound);
/* Makes a part, or with WAIT a thread, wait for what streams that join the default stream `stream`
 * have sent since that sent last. For what came before it waits by its own order. */
bool tsm_simulation_wait_recent(struct tsm_simulation *s, uint32_t who, uint32_t stream,
                                enum tsm_prediction_bound bound);
/* Makes a part wait for what its context's default streams, or those that join them, mean. */
bool tsm_simulation_wait_default(struct tsm_simulation *s, uint32_t part);
/* Makes a thread wait for all that was sent to the streams of the owner with this key; NULL: to
 * all. */
bool tsm_simulation_wait_owner(struct tsm_simulation *s, uint32_t thread, const uint64_t *key);
/* Makes a part that is sent wait for its value, if it waits for one. */
bool tsm_simulation_wait_value(struct tsm_simulation *s, uint32_t part);
/* Tests whether another value has been written since the one that the part, which is ready, waits
 * for; it has to wait for a later one then. */
bool tsm_simulation_has_lost_value(const struct tsm_simulation *s, uint32_t part);
void tsm_simulation_await_again(struct tsm_simulation *s, uint32_t part);
/* The part is done: it may have written a value that others wait for. */
bool tsm_simulation_note_value(struct tsm_simulation *s, uint32_t part);
/* A thread makes a call, which has been charged at `ns`: the program may have written such a value
 * before. TSM_WORKLOAD_NONE: no thread calls any more, at no time. */
bool tsm_simulation_note_call(struct tsm_simulation *s, uint32_t step, uint64_t ns);
/* The part waits for nothing more (simulate.c). */
bool tsm_simulation_push_ready(struct tsm_simulation *s, uint32_t part);
/* Notes that something that a part waited for ended at `ns`. */
void tsm_simulation_bind(struct tsm_scheduled_part *p, uint64_t ns, enum tsm_prediction_bound bound,
                         uint32_t by);
/* Notes that a stream was given a part, and that the part is done. */
void tsm_simulation_note_sent(struct tsm_simulation *s, uint32_t stream);
void tsm_simulation_note_done(struct tsm_simulation *s, uint32_t stream, uint32_t part);
/* Finds which streams belong together. */
bool tsm_simulation_make_owners(struct tsm_simulation *s);

#endif
