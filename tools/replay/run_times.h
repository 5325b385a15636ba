/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of commands in the runs of `tsreplay --time`. Those of one run are in memory; then they go,
 * sorted, to a file without a name, and all runs are merged as they are read.
 */
#ifndef TOOLS_REPLAY_RUN_TIMES_H
#define TOOLS_REPLAY_RUN_TIMES_H

#include "analysis/model/pass.h"
#include "tracesmith/replay.h"

/* Times of one run, of one API. */
struct tsm_run_chunk {
    uint64_t offset, count;         /* in the file; times */
    struct tsm_replay_time *buffer; /* a part of them */
    uint64_t read;                  /* how many came into the buffer so far */
    size_t at, loaded;              /* in the buffer */
};

/* Zeroed, and then set to one without times by tsm_run_times_init(). */
struct tsm_run_times {
    int fd;                      /* -1: not created yet */
    struct tsm_replay_time *now; /* of the run that is under way */
    size_t now_count, now_capacity;
    struct tsm_run_chunk *chunks; /* run after run, API after API */
    size_t chunk_count, chunk_capacity;
    uint64_t count, size; /* in the file; times, bytes */
    uint64_t next_seq;    /* that was asked for last, and its next chunk */
    size_t next_chunk;
};

void tsm_run_times_init(struct tsm_run_times *t);
void tsm_run_times_finish(struct tsm_run_times *t);

/* Adds a time. Runs come one after the other. */
int tsm_run_times_add(struct tsm_run_times *t, const struct tsm_replay_time *time);
/* Ends the run that is under way: all runs of an API are complete. */
int tsm_run_times_end(struct tsm_run_times *t);

/* Begins to read from the first command on. */
int tsm_run_times_rewind(struct tsm_run_times *t);
/* Gives the next time of the command of record `seq`, run after run: 1; 0: there is no other one;
 * or an error. Records come in ascending order; times of those that are not asked for are passed
 * over.
 */
int tsm_run_times_next(struct tsm_run_times *t, uint64_t seq, struct tsm_replay_time *out);

/* The same as times of a model; they live as long as `t`. */
struct tsm_model_times tsm_run_times_model(struct tsm_run_times *t);

#endif
