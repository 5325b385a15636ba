/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/compare.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

const char *tsm_change_name(enum tsm_change change)
{
    static const char *const names[TSM_CHANGE_COUNT] = {"none",   "faster", "slower", "unsure",
                                                        "only_a", "only_b", "unknown"};

    return names[change];
}

/* ---- pairs --------------------------------------------------------------------------------- */

static bool add(struct tsm_time_changes *out, struct tsm_time_group *a, struct tsm_time_group *b)
{
    struct tsm_time_change change = {.a = a, .b = b, .chance = 1};

    if (a)
        change.median_a = tsm_samples_percentile(&a->ns, 50);
    if (b)
        change.median_b = tsm_samples_percentile(&b->ns, 50);
    return TSM_ARRAY_PUSH(out->list, out->count, out->capacity, change);
}

static bool pair(struct tsm_time_changes *out, struct tsm_time_groups *a, struct tsm_time_groups *b)
{
    bool ok = tsm_time_groups_index(a) && tsm_time_groups_index(b);

    for (size_t i = 0; i < a->count && ok; i++)
        ok = add(out, &a->list[i], tsm_time_groups_lookup(b, &a->list[i].key));
    for (size_t i = 0; i < b->count && ok; i++)
        ok = tsm_time_groups_lookup(a, &b->list[i].key) || add(out, NULL, &b->list[i]);
    return ok;
}

/* ---- decisions ----------------------------------------------------------------------------- */

static bool has_times(const struct tsm_time_change *c)
{
    return c->a && c->b && c->a->ns.count && c->b->ns.count;
}

/* Times that the device measured and those that a call took are of different things. */
static bool is_comparable(const struct tsm_time_change *c)
{
    return has_times(c) && !c->a->derived_count == !c->b->derived_count;
}

static double difference(const struct tsm_time_change *c)
{
    return (double)c->median_b - (double)c->median_a;
}

static enum tsm_change decide(struct tsm_time_change *c, const struct tsm_compare_options *options,
                              size_t decision_count)
{
    if (!c->a || !c->b)
        return c->a ? TSM_CHANGE_ONLY_A : TSM_CHANGE_ONLY_B;
    if (!is_comparable(c))
        return TSM_CHANGE_UNKNOWN;
    c->chance =
        options->is_exact ? c->median_a == c->median_b : tsm_rank_test(&c->a->ns, &c->b->ns);
    if (difference(c) < options->threshold * (double)c->median_a &&
        -difference(c) < options->threshold * (double)c->median_a)
        return TSM_CHANGE_NONE;
    if (difference(c) == 0)
        return TSM_CHANGE_NONE;
    if (c->chance > options->chance / (double)decision_count)
        return TSM_CHANGE_UNSURE;
    return difference(c) > 0 ? TSM_CHANGE_SLOWER : TSM_CHANGE_FASTER;
}

/* Time that is gained or lost in all, if each occurrence of `b` changed as the median did. */
static double weight(const struct tsm_time_change *c)
{
    const double total = has_times(c) ? difference(c) * (double)c->b->count
                         : c->a       ? (double)c->a->ns.total
                                      : (double)c->b->ns.total;

    return total < 0 ? -total : total;
}

static int by_weight(const void *a, const void *b)
{
    const double x = weight(a), y = weight(b);

    return x > y ? -1 : x < y;
}

int tsm_time_compare(struct tsm_time_changes *out, struct tsm_time_groups *a,
                     struct tsm_time_groups *b, const struct tsm_compare_options *options)
{
    size_t decision_count = 0;

    *out = (struct tsm_time_changes){0};
    if (!pair(out, a, b)) {
        tsm_time_changes_finish(out);
        return tsm_fail(TSM_E_MEMORY, "out of memory to compare with");
    }
    for (size_t i = 0; i < out->count; i++)
        decision_count += is_comparable(&out->list[i]);
    for (size_t i = 0; i < out->count; i++) {
        out->list[i].change = decide(&out->list[i], options, decision_count);
        out->counts[out->list[i].change]++;
    }
    if (out->count)
        qsort(out->list, out->count, sizeof(*out->list), by_weight);
    return 0;
}

void tsm_time_changes_finish(struct tsm_time_changes *changes)
{
    free(changes->list);
    *changes = (struct tsm_time_changes){0};
}
