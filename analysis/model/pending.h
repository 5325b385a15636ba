/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands whose time is not known yet, oldest first: GPU_TIME records come some time after them.
 */
#ifndef ANALYSIS_MODEL_PENDING_H
#define ANALYSIS_MODEL_PENDING_H

#include "analysis/model/node.h"
#include "base/map.h"

/* So many wait at once; then the oldest is given up. A recorder has fewer under way. */
#define TSM_PENDING_MAX 65536u

struct tsm_pending_entry {
    struct tsm_command_node node;
    bool is_timed; /* it, or a part of it, was reported */
    uint32_t run;  /* the last one that it was reported for */
};

/* Gets each command once, or once for each part and run that has a time. */
typedef int (*tsm_pending_report)(void *user, const struct tsm_command_node *command);

/* A zeroed struct with `report` and `user` is empty. */
struct tsm_pending {
    tsm_pending_report report;
    void *user;
    struct tsm_pending_entry *ring;
    size_t first, count, capacity; /* capacity: a power of two */
    size_t untimed_count;
    struct tsm_map
        places; /* key of stream and position -> number of the entry, counted from ever */
    uint64_t removed_count;
};

/* Adds a command; its span is what is known of it without a time. */
int tsm_pending_add(struct tsm_pending *p, const struct tsm_command_node *command);

/* Reports the command, or its part, with its time. Runs come in ascending order. Returns 1 where
 * there is no such command, or none that lacks this time. */
int tsm_pending_time(struct tsm_pending *p, const struct tsm_command_time *time);

/* Returns the command that has this place, or NULL. Valid until the next call. */
const struct tsm_command_node *tsm_pending_find(const struct tsm_pending *p, uint32_t stream,
                                                uint64_t position);

/* Reports all that are left, without a time. */
int tsm_pending_end(struct tsm_pending *p);

void tsm_pending_finish(struct tsm_pending *p);

#endif
