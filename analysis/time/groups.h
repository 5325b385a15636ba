/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations, grouped by what they have in common.
 */
#ifndef ANALYSIS_TIME_GROUPS_H
#define ANALYSIS_TIME_GROUPS_H

#include "analysis/model/node.h"
#include "analysis/time/samples.h"
#include "base/map.h"

/* Properties that the members of a group share. Names always count. */
enum tsm_time_by {
    TSM_TIME_BY_GRID = 1u << 0, /* grid and block */
    TSM_TIME_BY_STREAM = 1u << 1,
    TSM_TIME_BY_THREAD = 1u << 2,
    TSM_TIME_BY_LABEL = 1u << 3,
    TSM_TIME_BY_SITE = 1u << 4, /* the host's stack */
    TSM_TIME_BY_NAME = 1u << 5, /* names always count */
    TSM_TIME_BY_DEVICE = 1u << 6,
    /* No property: the time of a submit is all of it, also where commands inside have times. */
    TSM_TIME_WHOLE = 1u << 7,
};

/* Properties that do not count are 0 or NULL. */
struct tsm_time_key {
    const char *name, *label; /* texts of the trace or of this program; they outlive the group */
    enum tsm_work work;
    enum tsm_place from, to;
    uint32_t grid[3], block[3];
    uint32_t stream, thread, stack;
    struct tsm_device device;
};

struct tsm_time_group {
    struct tsm_time_key key;
    struct tsm_samples ns;  /* of members whose duration is known */
    uint64_t count;         /* of all members */
    uint64_t failed_count;  /* calls */
    uint64_t derived_count; /* members whose time is not measured but derived */
    uint64_t bytes;         /* moved, by members whose duration is known */
    bool is_wait;           /* calls that wait for the device */
    size_t next;            /* place + 1 of the next one with the same hash */
};

/* A zeroed struct is empty. */
struct tsm_time_groups {
    struct tsm_time_group *list;
    size_t count, capacity;
    struct tsm_map places; /* hash of the key -> place + 1 */
};

/* Returns the group with the key, which it adds if need be; NULL when out of memory. Valid until
 * the next call. */
struct tsm_time_group *tsm_time_groups_find(struct tsm_time_groups *g,
                                            const struct tsm_time_key *key);

/* Returns the group with the key, or NULL. */
struct tsm_time_group *tsm_time_groups_lookup(const struct tsm_time_groups *g,
                                              const struct tsm_time_key *key);

/* Sorts by total time, descending, then by count and name. Nothing is found any more
 * until tsm_time_groups_index(). */
void tsm_time_groups_sort(struct tsm_time_groups *g);

/* Makes groups found by their keys again. Returns false when out of memory. */
bool tsm_time_groups_index(struct tsm_time_groups *g);

void tsm_time_groups_finish(struct tsm_time_groups *g);

#endif
