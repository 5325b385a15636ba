/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/steadiness.h"

#include "analysis/time/compare.h"

static bool fill(struct tsm_samples *s, const uint64_t *values, size_t count)
{
    bool ok = true;

    for (size_t i = 0; i < count && ok; i++)
        ok = tsm_samples_add(s, values[i]);
    return ok;
}

static void find_drift(struct tsm_steadiness *out, struct tsm_samples *first,
                       struct tsm_samples *last)
{
    const double before = (double)tsm_samples_percentile(first, 50);

    out->is_drift_known = out->is_known && first->count >= TSM_STEADINESS_THIRD_MIN && before > 0;
    if (!out->is_drift_known)
        return;
    out->drift = (double)tsm_samples_percentile(last, 50) / before - 1;
    out->drift_chance = tsm_rank_test(first, last);
    out->drifts = out->drift_chance < TSM_UNSTEADY_CHANCE;
}

bool tsm_steadiness_find(struct tsm_steadiness *out, const uint64_t *totals, size_t count)
{
    const size_t third = count / 3;
    struct tsm_samples all = {0}, first = {0}, last = {0};
    bool ok = fill(&all, totals, count) && fill(&first, totals, third) &&
              fill(&last, totals + (count - third), third);

    *out = (struct tsm_steadiness){.run_count = count, .drift_chance = 1};
    out->is_known = ok && count > 1 && tsm_samples_mean(&all) > 0;
    if (out->is_known)
        out->deviation = tsm_samples_deviation(&all) / (double)tsm_samples_mean(&all);
    find_drift(out, &first, &last);
    out->varies = out->deviation > TSM_UNSTEADY_DEVIATION;
    out->is_unsteady = out->varies || out->drifts;
    tsm_samples_finish(&all);
    tsm_samples_finish(&first);
    tsm_samples_finish(&last);
    return ok;
}
