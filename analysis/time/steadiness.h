/* SPDX-License-Identifier: Apache-2.0
 *
 * Says whether a machine was steady while the same work was done several times: whether what it
 * took drifted (a clock that goes down as a device gets warm, another program that begins), and
 * whether it varied.
 */
#ifndef ANALYSIS_TIME_STEADINESS_H
#define ANALYSIS_TIME_STEADINESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSM_UNSTEADY_DEVIATION   0.05 /* standard deviation, of the mean */
#define TSM_UNSTEADY_CHANCE      0.01 /* of such a drift without a reason */
#define TSM_STEADINESS_THIRD_MIN 5u   /* runs in a third; fewer tell no drift from chance */

struct tsm_steadiness {
    size_t run_count;
    bool is_known;       /* there are two runs at least, and they took time */
    bool is_drift_known; /* and enough of them for drift_chance */
    bool varies, drifts, is_unsteady;
    double deviation; /* standard deviation, of the mean */
    double drift;     /* how much the median of the last third is above that of the first: 0.02 */
    double drift_chance; /* by a rank test of the one against the other */
};

/* `totals`: what each run took, in order. False when out of memory. */
bool tsm_steadiness_find(struct tsm_steadiness *out, const uint64_t *totals, size_t count);

#endif
