/* SPDX-License-Identifier: Apache-2.0
 *
 * Offset and speed of a clock against another one, as far as bounds tell: at a time of the clock,
 * what must be added to it to have the other clock's time is at least, or at most, so much. All
 * offsets that grow evenly and keep every bound are a polygon; its extents are the result. Nothing
 * is estimated.
 */
#ifndef ANALYSIS_TIME_DRIFT_H
#define ANALYSIS_TIME_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No clock of a device is wrong by more: 10 %. */
#define TSM_DRIFT_MAX_PPB 100000000

/* One bound, and what says it. */
struct tsm_drift_bound {
    int64_t time_ns, offset_ns; /* of the clock, modulo 2^64; what must be added at that time */
    uint64_t seq, other_seq;
    const char *call, *other_call; /* as long as the reader */
};

/* Keeps those bounds of one direction that no others imply. */
struct tsm_drift_hull {
    struct tsm_drift_bound *list; /* by time once it is compressed */
    size_t count, capacity, compressed_count;
};

/* A zeroed struct has no bounds. */
struct tsm_drift {
    struct tsm_drift_hull least, most; /* offsets of `most` are negated */
    struct tsm_drift_bound origin;     /* times and offsets in the hulls are counted from here */
    bool has_origin;
    uint64_t far_count; /* bounds that were left out: 2^61 ns or more from the first */
};

/* Adds a bound. Returns false when out of memory. Memory grows with the bounds that matter, few of
 * all. */
bool tsm_drift_at_least(struct tsm_drift *d, const struct tsm_drift_bound *bound);
bool tsm_drift_at_most(struct tsm_drift *d, const struct tsm_drift_bound *bound);

/* A number that may be unknown: nothing bounds it. */
struct tsm_drift_number {
    bool is_known;
    int64_t value;
};

struct tsm_drift_fit {
    bool fits; /* some offset and speed keep all bounds; without bounds, too */
    struct tsm_drift_number least, most; /* parts per billion by which the offset grows; rounded
                                            outwards. Where it fits, limits that no clock exceeds
                                            are unknown */
    /* The offset at the time of the first bound, in ns, where it fits. */
    int64_t first_ns;
    struct tsm_drift_number offset_least, offset_most;
    /* Bounds that need the offset to grow by `least`, and by no more than `most`: a pair each, the
     * bound from below first. Of two pairs that cannot both be true, or one that no device's clock
     * can keep. As long as *d is not changed. */
    const struct tsm_drift_bound *of_least[2], *of_most[2];
};

struct tsm_drift_fit tsm_drift_fit(struct tsm_drift *d);

void tsm_drift_finish(struct tsm_drift *d);

#endif
