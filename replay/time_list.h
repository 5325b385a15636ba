/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of commands that a backend has read, until it is asked for them (struct
 * tsm_backend_timing).
 */
#ifndef REPLAY_TIME_LIST_H
#define REPLAY_TIME_LIST_H

#include "replay/backend.h"

#include <pthread.h>

struct tsm_time_list {
    pthread_mutex_t lock;
    struct tsm_replay_time *list;
    size_t count, capacity;
    bool lacks_memory; /* a time was not added; the report fails */
};

void tsm_time_list_init(struct tsm_time_list *l);
void tsm_time_list_finish(struct tsm_time_list *l);

/* Adds a time. Any thread. */
void tsm_time_list_add(struct tsm_time_list *l, const struct tsm_replay_time *time);

/* Hands all times to `report`, and forgets them. Returns its first error. */
int tsm_time_list_report(struct tsm_time_list *l, tsm_time_user report, void *user);

#endif
