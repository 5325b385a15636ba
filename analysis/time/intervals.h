/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of half open intervals of time.
 */
#ifndef ANALYSIS_TIME_INTERVALS_H
#define ANALYSIS_TIME_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_interval {
    int64_t start, end;
};

/* A zeroed struct is empty. */
struct tsm_intervals {
    struct tsm_interval *list;
    size_t count, capacity;
    bool is_merged; /* sorted, and apart from each other */
};

/* Adds [start, end); an empty one changes nothing. Returns false when out of memory. */
bool tsm_intervals_add(struct tsm_intervals *set, int64_t start, int64_t end);

/* Adds all of `other`. */
bool tsm_intervals_add_all(struct tsm_intervals *set, const struct tsm_intervals *other);

/* Sorts, and makes one of those that overlap or touch. */
void tsm_intervals_merge(struct tsm_intervals *set);

/* Returns the length of the union. Merges. */
uint64_t tsm_intervals_length(struct tsm_intervals *set);

void tsm_intervals_finish(struct tsm_intervals *set);

#endif
