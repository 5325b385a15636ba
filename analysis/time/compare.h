/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares how long the same things took in two traces, by the occurrences of each, so that noise
 * is not taken for a change.
 *
 * Mann-Whitney's test (two-sided) says how likely it is that two sets of durations differ so much
 * by chance: exactly for at most 25 each, equal values among them too, else by the normal
 * approximation with corrections for continuity and, where there are more than 25 of both, for
 * ties (H. B. Mann, D. R. Whitney, 1947).
 */
#ifndef ANALYSIS_TIME_COMPARE_H
#define ANALYSIS_TIME_COMPARE_H

#include "analysis/time/groups.h"

enum tsm_change {
    TSM_CHANGE_NONE,   /* the medians differ by less than the threshold */
    TSM_CHANGE_FASTER, /* the second one, by the threshold or more, and hardly by chance */
    TSM_CHANGE_SLOWER,
    TSM_CHANGE_UNSURE, /* by the threshold or more, but it may be chance */
    TSM_CHANGE_ONLY_A,
    TSM_CHANGE_ONLY_B,
    TSM_CHANGE_UNKNOWN, /* one has no times, or some that are derived where the other has none */
    TSM_CHANGE_COUNT
};

/* "none", "faster" etc. */
const char *tsm_change_name(enum tsm_change change);

struct tsm_time_change {
    struct tsm_time_group *a, *b; /* NULL: only the other one has it */
    uint64_t median_a, median_b;
    double chance; /* probability of such a difference if nothing had changed; 1 where it was not
                      computed */
    enum tsm_change change;
};

struct tsm_time_changes {
    struct tsm_time_change *list; /* by the time that is gained or lost in all, most first */
    size_t count, capacity;
    size_t counts[TSM_CHANGE_COUNT];
};

struct tsm_compare_options {
    double threshold; /* 0.05: medians 5 % apart */
    double chance;    /* 0.01: of all decisions together to be wrong; it is divided among them */
    bool is_exact; /* times have no noise: every difference of a median by the threshold counts */
};

/* Pairs groups with equal keys. The groups must outlive *out. Sorts their durations. Returns
 * TSM_E_MEMORY when out of memory. */
int tsm_time_compare(struct tsm_time_changes *out, struct tsm_time_groups *a,
                     struct tsm_time_groups *b, const struct tsm_compare_options *options);
void tsm_time_changes_finish(struct tsm_time_changes *changes);

/* The test itself. Sorts both. 1 where one of them is empty. */
double tsm_rank_test(struct tsm_samples *a, struct tsm_samples *b);

#endif
