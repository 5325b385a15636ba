/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/samples.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

bool tsm_samples_add(struct tsm_samples *s, uint64_t value)
{
    if (!TSM_ARRAY_PUSH(s->list, s->count, s->capacity, value))
        return false;
    s->is_sorted = false;
    if (s->count == 1 || value < s->min)
        s->min = value;
    if (value > s->max)
        s->max = value;
    if (__builtin_add_overflow(s->total, value, &s->total))
        s->total = UINT64_MAX;
    return true;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void tsm_samples_sort(struct tsm_samples *s)
{
    if (!s->is_sorted && s->count)
        qsort(s->list, s->count, sizeof(*s->list), compare);
    s->is_sorted = true;
}

uint64_t tsm_samples_percentile(struct tsm_samples *s, unsigned percent)
{
    size_t rank;

    if (!s->count)
        return 0;
    tsm_samples_sort(s);
    if (percent == 50 && s->count % 2 == 0) {
        const uint64_t low = s->list[s->count / 2 - 1], high = s->list[s->count / 2];
        return low + (high - low) / 2;
    }
    rank = (size_t)(((unsigned __int128)s->count * percent + 99) / 100);
    return s->list[rank ? rank - 1 : 0];
}

uint64_t tsm_samples_mean(const struct tsm_samples *s)
{
    return s->count ? s->total / s->count : 0;
}

double tsm_samples_deviation(const struct tsm_samples *s)
{
    const double mean = s->count ? (double)s->total / (double)s->count : 0;
    double sum = 0;

    if (s->count < 2)
        return 0;
    for (size_t i = 0; i < s->count; i++)
        sum += ((double)s->list[i] - mean) * ((double)s->list[i] - mean);
    return sqrt(sum / (double)(s->count - 1));
}

void tsm_samples_finish(struct tsm_samples *s)
{
    free(s->list);
    *s = (struct tsm_samples){0};
}
