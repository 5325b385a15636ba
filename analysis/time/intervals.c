/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/intervals.h"

#include "base/array.h"

#include <stdlib.h>

bool tsm_intervals_add(struct tsm_intervals *set, int64_t start, int64_t end)
{
    struct tsm_interval *last = set->count ? &set->list[set->count - 1] : NULL;

    if (start >= end)
        return true;
    if (last && start >= last->start && start <= last->end) {
        if (end > last->end)
            last->end = end;
        return true;
    }
    set->is_merged = set->is_merged && last && start > last->end;
    return TSM_ARRAY_PUSH(set->list, set->count, set->capacity, (struct tsm_interval){start, end});
}

bool tsm_intervals_add_all(struct tsm_intervals *set, const struct tsm_intervals *other)
{
    bool ok = true;

    for (size_t i = 0; i < other->count && ok; i++)
        ok = tsm_intervals_add(set, other->list[i].start, other->list[i].end);
    return ok;
}

static int by_start(const void *a, const void *b)
{
    const struct tsm_interval *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

void tsm_intervals_merge(struct tsm_intervals *set)
{
    size_t kept = 0;

    if (set->is_merged || !set->count)
        return;
    qsort(set->list, set->count, sizeof(*set->list), by_start);
    for (size_t i = 1; i < set->count; i++) {
        struct tsm_interval *last = &set->list[kept];

        if (set->list[i].start > last->end)
            set->list[++kept] = set->list[i];
        else if (set->list[i].end > last->end)
            last->end = set->list[i].end;
    }
    set->count = kept + 1;
    set->is_merged = true;
}

uint64_t tsm_intervals_length(struct tsm_intervals *set)
{
    uint64_t sum = 0;

    tsm_intervals_merge(set);
    for (size_t i = 0; i < set->count; i++)
        sum += (uint64_t)set->list[i].end - (uint64_t)set->list[i].start;
    return sum;
}

void tsm_intervals_finish(struct tsm_intervals *set)
{
    free(set->list);
    *set = (struct tsm_intervals){0};
}
