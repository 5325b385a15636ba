/* SPDX-License-Identifier: Apache-2.0
 *
 * The workers that talk to the backend: one per stream, and one for what belongs to no stream. Each
 * has a thread, which ends when there are many and it has nothing to do, until the next job. Each
 * carries out its jobs in order; a job may name places of other workers that must be reached first.
 * A place is a count of jobs done, so order between streams costs no global lock.
 *
 * After the first error no further job is carried out, but all are taken off the queues, so that
 * every place is still reached and nobody waits for ever, except for a driver that never returns:
 * tsm_crew_await() gives up on that after the timeout, and the workers then stay until the process
 * ends.
 *
 * Permuted: a worker carries out a job only when the main thread has let it, which it does while it
 * waits for a place: one job after the other, among the first ones of all workers whose places are
 * reached. Which, a random number chooses; so each seed is another legal order of submission.
 */
#ifndef REPLAY_WORKER_H
#define REPLAY_WORKER_H

#include "replay/recorded_failures.h"
#include "replay/stall.h"

#include <pthread.h>
#include <stdatomic.h>

#define TSM_WORKER_QUEUE 256 /* jobs that wait, at most */

struct tsm_worker;

/* Reached when `worker` has done `count` jobs. A zeroed place is always reached. */
struct tsm_place {
    struct tsm_worker *worker;
    uint64_t count;
};

enum tsm_job_kind {
    TSM_JOB_SUBMIT,           /* backend->submit */
    TSM_JOB_SUBMIT_SYNC_ONLY, /* backend->submit_sync_only */
    TSM_JOB_WAIT,             /* backend->wait for `stream`, wait_for_api for `api` */
    TSM_JOB_HOST,             /* backend->host */
    TSM_JOB_FAST_FORWARD,     /* backend->checkpoint->fast_forward */
    TSM_JOB_SYNC,             /* backend->sync->sync */
    TSM_JOB_REACHED,          /* backend->sync->reached */
    TSM_JOB_AWAIT,            /* backend->schedule->await */
};

struct tsm_crew {
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
    struct sbt_reader *reader;
    uint64_t timeout_ns;
    uint64_t permute, delay;                /* as in struct tsm_replay_options */
    struct tsm_stall *stall;                /* NULL: nobody looks at what stands still */
    struct tsm_recorded_failures *failures; /* errors that are none of the replay's */
    const struct sbt_record *at; /* what the main thread is at: its number and time only */

    struct tsm_worker *workers; /* a list; changed by the main thread only */
    uint32_t thread_count;      /* workers that have a thread; main thread only */
    uint64_t random;            /* of permute; main thread only */
    atomic_ullong progress;     /* jobs done by all */
    pthread_mutex_t lock;       /* of error and message */
    atomic_int error;           /* the first one, 0 none */
    char message[512];
    bool hung; /* a worker did not come back: leave everything as it is */
};

int tsm_crew_init(struct tsm_crew *crew);

/* Ends and joins the workers, unless one hangs: then false, and what the workers use must stay.
 * `failed`: the replay has, so that one may not come back; after tsm_crew_patience_ns() it is taken
 * to hang. */
bool tsm_crew_finish(struct tsm_crew *crew, bool failed);
/* Ends and joins the workers of a crew that was left, if all of them have nothing under way. Waits
 * for none. Returns false if one still hangs. */
bool tsm_crew_collect(struct tsm_crew *crew);
uint64_t tsm_crew_patience_ns(const struct tsm_crew *crew);

/* The crew's first error as this thread's, 0 when there is none. */
int tsm_crew_error(struct tsm_crew *crew);

/* A worker of `stream`; SBT_STREAM_NONE for the host's, which may carry out streams' jobs, too.
 * Belongs to the crew. */
int tsm_worker_create(struct tsm_worker **out, struct tsm_crew *crew, uint32_t stream);

struct tsm_job {
    enum tsm_job_kind kind;
    const struct sbt_record *record; /* copied; NULL for WAIT */
    const struct sbt_schema *schema;
    const struct tsm_place *after; /* copied */
    size_t after_count;
    uint32_t stream; /* of WAIT */
    uint32_t api;    /* of WAIT: of this API alone; 0: of all */
};

/* Queue a job; *place is reached when it is done. Waits while the queue is full. */
int tsm_worker_add(struct tsm_worker *w, const struct tsm_job *job, struct tsm_place *place);

/* Everything that was queued so far. */
struct tsm_place tsm_worker_last(struct tsm_worker *w);

bool tsm_place_reached(const struct tsm_place *place);

/* Waits for a place, from the main thread. TSM_E_DEVICE: no worker finished a job for timeout_ns,
 * and nothing was executed that the backend knows of (executed()), or for ten times as long; the
 * message names the command and its stream. Returns any worker's error, too. */
int tsm_crew_await(struct tsm_crew *crew, const struct tsm_place *place);

#endif
