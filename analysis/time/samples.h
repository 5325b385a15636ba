/* SPDX-License-Identifier: Apache-2.0
 *
 * Durations of what happened more than once. All of them are kept, 8 bytes each, so that median and
 * percentiles are exact.
 */
#ifndef ANALYSIS_TIME_SAMPLES_H
#define ANALYSIS_TIME_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. */
struct tsm_samples {
    uint64_t *list;
    size_t count, capacity;
    uint64_t total, min, max;
    bool is_sorted;
};

/* Returns false when out of memory. A total of 2^64 or more stays at UINT64_MAX. */
bool tsm_samples_add(struct tsm_samples *s, uint64_t value);

/* Sorts the list, ascending. */
void tsm_samples_sort(struct tsm_samples *s);

/* Returns the smallest value that at least `percent` of 100 of all are not above (nearest rank); of
 * percent 50 and an even count the mean of the two in the middle, rounded down. 0 for none. Sorts.
 */
uint64_t tsm_samples_percentile(struct tsm_samples *s, unsigned percent);

uint64_t tsm_samples_mean(const struct tsm_samples *s);

/* Returns the standard deviation (of a sample: divided by count - 1). 0 for less than two. */
double tsm_samples_deviation(const struct tsm_samples *s);

void tsm_samples_finish(struct tsm_samples *s);

#endif
