/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures of commands that the recorded program was told of: results of the device like any other.
 * A command fails on the device some time after its call returned, and ends all that it belongs to
 * (a context); the recording has the first call that said so, and which commands it can have been:
 * those that had been sent by then and were not known to have finished.
 *
 * A replay fails as recorded when it gives the same error, by one of these commands. Which one
 * failed in the replay the software GPU says. Where nobody says it, it can be none but these if all
 * others that were sent are known to be complete.
 *
 * Threads: take() any worker's, all others the main thread.
 */
#ifndef REPLAY_RECORDED_FAILURES_H
#define REPLAY_RECORDED_FAILURES_H

#include "replay/backend.h"

#include <pthread.h>
#include <stdatomic.h>

enum tsm_failure_end {
    TSM_FAILURE_OPEN, /* it has not come yet */
    TSM_FAILURE_AS_RECORDED,
    TSM_FAILURE_OTHER,   /* another error, or another command */
    TSM_FAILURE_NONE,    /* the commands are complete, and none has failed */
    TSM_FAILURE_UNKNOWN, /* it may have been another command */
};

struct tsm_recorded_failure {
    uint64_t seq; /* of the call that said so */
    int64_t result;
    const char *name; /* of the result */
    const struct sbt_schema *schema;
    uint64_t *commands; /* that can have failed: numbers of records, ascending */
    size_t command_count, command_capacity;
    struct tsm_failure_stream {
        uint32_t number;
        uint64_t known_position; /* of its last command that cannot have failed; 0: none */
    } * streams;                 /* of the context */
    size_t stream_count, stream_capacity;
    /* State of this run. */
    size_t sent_count; /* commands that were sent */
    bool has_failed;
    struct tsm_device_failure found;
    enum tsm_failure_end end;
};

/* A zeroed struct has none. */
struct tsm_recorded_failures {
    struct tsm_recorded_failure *list; /* by seq */
    size_t count, capacity;
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
    pthread_mutex_t lock; /* of has_failed, found */
    atomic_bool any;      /* has failed */
};

/* Reads the trace. Finish it in any case. */
int tsm_recorded_failures_init(struct tsm_recorded_failures *f, struct sbt_reader *reader);
void tsm_recorded_failures_finish(struct tsm_recorded_failures *f);

/* A run begins. */
void tsm_recorded_failures_begin(struct tsm_recorded_failures *f, const struct tsm_backend *backend,
                                 struct tsm_backend_state *state);

/* A command was sent. */
void tsm_recorded_failures_sent(struct tsm_recorded_failures *f, uint64_t seq);

/* A function of the backend gave an error. Returns whether that is because a command failed where
 * one has failed in the recording, too: then it is no error of the replay. */
bool tsm_recorded_failures_take(struct tsm_recorded_failures *f);

/* Tests whether something has failed in this run that the stream belongs to. */
bool tsm_recorded_failures_has_failed(struct tsm_recorded_failures *f, uint32_t stream);

/* Returns the failure that a call said, or NULL. */
struct tsm_recorded_failure *tsm_recorded_failures_of(const struct tsm_recorded_failures *f,
                                                      uint64_t seq);

#endif
