/* SPDX-License-Identifier: Apache-2.0 -- Mann-Whitney's test. */
#include "analysis/time/compare.h"

#include <math.h>

#define EXACT_MAX 25u /* values of each */

/* Sums over both sets, merged. */
struct ranks {
    double sum_a; /* of the ranks of a; equal values share the mean of theirs */
    double ties;  /* sum of t^3 - t over groups of t equal values */
};

/* Moves behind the next value in both sorted lists. Returns how many there are of it. */
static size_t next_equal(const struct tsm_samples *a, const struct tsm_samples *b, size_t *i,
                         size_t *k)
{
    const bool is_a = *k == b->count || (*i < a->count && a->list[*i] <= b->list[*k]);
    const uint64_t value = is_a ? a->list[*i] : b->list[*k];
    const size_t first = *i + *k;

    while (*i < a->count && a->list[*i] == value)
        ++*i;
    while (*k < b->count && b->list[*k] == value)
        ++*k;
    return *i + *k - first;
}

static struct ranks rank(const struct tsm_samples *a, const struct tsm_samples *b)
{
    struct ranks r = {0, 0};
    size_t i = 0, k = 0;

    while (i < a->count || k < b->count) {
        const size_t first = i + k, i_first = i;
        const double t = (double)next_equal(a, b, &i, &k);

        r.sum_a += (double)(i - i_first) * ((double)first + (t + 1) / 2);
        r.ties += t * t * t - t;
    }
    return r;
}

/* Orders of the values seen so far by what they come to, where no order is likelier than another:
 * ways[i][u] of those that have i values of the first set, and twice the U of these is u. The
 * numbers stay small enough for a double. */
struct orders {
    unsigned m, n, seen;
    double ways[EXACT_MAX + 1][2 * EXACT_MAX * EXACT_MAX + 1]; /* 260 KB */
};

/* Adds the ways to come to `i` values of the first set by `chosen` of `t` equal ones. Pairs of
 * equal values count half in U. */
static void choose(struct orders *o, unsigned t, unsigned i, unsigned chosen, double choices)
{
    const unsigned from = i - chosen;
    const unsigned below = o->seen - from, equal = t - chosen; /* values of the second set */
    const unsigned more = chosen * (2 * below + equal);

    if (from > o->seen || below + equal > o->n)
        return;
    for (unsigned u = more; u <= 2 * o->m * o->n; u++)
        o->ways[i][u] += o->ways[from][u - more] * choices;
}

static void add_equal(struct orders *o, unsigned t)
{
    for (unsigned i = o->m; i > 0; i--) {
        double choices = 1;

        for (unsigned chosen = 1; chosen <= t && chosen <= i; chosen++) {
            choices = choices * (t - chosen + 1) / chosen;
            choose(o, t, i, chosen, choices);
        }
    }
    o->seen += t;
}

/* Returns twice the probability that twice U is at most, or at least, `u`: the smaller of both. */
static double exact_tails(const struct tsm_samples *a, const struct tsm_samples *b, unsigned u)
{
    struct orders o = {.m = (unsigned)a->count, .n = (unsigned)b->count, .ways = {{1}}};
    double low = 0, high = 0, all = 0, chance;
    size_t i = 0, k = 0;

    while (i < a->count || k < b->count)
        add_equal(&o, (unsigned)next_equal(a, b, &i, &k));
    for (unsigned s = 0; s <= 2 * o.m * o.n; s++) {
        all += o.ways[o.m][s];
        low += s <= u ? o.ways[o.m][s] : 0;
        high += s >= u ? o.ways[o.m][s] : 0;
    }
    chance = 2 * (low < high ? low : high) / all;
    return chance < 1 ? chance : 1;
}

static double normal_tails(double m, double n, double u, double ties)
{
    const double all = m + n;
    const double variance = m * n / 12 * (all + 1 - ties / (all * (all - 1)));
    const double distance = fabs(u - m * n / 2) - 0.5;

    if (variance <= 0 || distance <= 0)
        return 1;
    return erfc(distance / sqrt(2 * variance));
}

double tsm_rank_test(struct tsm_samples *a, struct tsm_samples *b)
{
    const double m = (double)a->count, n = (double)b->count;
    struct ranks r;
    double u;

    if (!a->count || !b->count)
        return 1;
    tsm_samples_sort(a);
    tsm_samples_sort(b);
    r = rank(a, b);
    u = r.sum_a - m * (m + 1) / 2;
    if (a->count <= EXACT_MAX && b->count <= EXACT_MAX)
        return exact_tails(a, b, (unsigned)(2 * u));
    /* With few values of one the correction for ties takes chance for certainty. */
    return normal_tails(m, n, u, a->count > EXACT_MAX && b->count > EXACT_MAX ? r.ties : 0);
}
