/* SPDX-License-Identifier: Apache-2.0 -- Mann-Whitney's test. */
#include "analysis/time/compare.h"

#include <math.h>
#include <string.h>

#define EXACT_MAX 25u /* values of each */

/* Sums over both sets, merged. */
struct ranks {
    double sum_a; /* of the ranks of a; equal values share the mean of theirs */
    double ties;  /* sum of t^3 - t over groups of t equal values */
};

static struct ranks rank(const struct tsm_samples *a, const struct tsm_samples *b)
{
    struct ranks r = {0, 0};
    size_t i = 0, k = 0;

    while (i < a->count || k < b->count) {
        const bool is_a = k == b->count || (i < a->count && a->list[i] <= b->list[k]);
        const uint64_t value = is_a ? a->list[i] : b->list[k];
        const size_t first = i + k, i_first = i;
        double t;

        while (i < a->count && a->list[i] == value)
            i++;
        while (k < b->count && b->list[k] == value)
            k++;
        t = (double)(i + k - first);
        r.sum_a += (double)(i - i_first) * ((double)first + (t + 1) / 2);
        r.ties += t * t * t - t;
    }
    return r;
}

/* Returns the probability that U is at most `u` where no order of the m + n values is likelier than
 * another: counts orders by U, adding one value after the other. */
static double exact_tail(unsigned m, unsigned n, unsigned u)
{
    /* ways[i][s]: choices of i of the ranks seen so far whose U is s; the products stay small
     * enough for a double. */
    double ways[EXACT_MAX + 1][EXACT_MAX * EXACT_MAX + 1]; /* 130 KB */
    double sum = 0, all = 0;

    memset(ways, 0, sizeof(ways));
    ways[0][0] = 1;
    for (unsigned seen = 1; seen <= m + n; seen++)
        for (unsigned i = seen < m ? seen : m; i > 0; i--) {
            const unsigned below = seen - i; /* values of the other set below this one */

            if (below > n)
                continue;
            for (unsigned s = m * n + 1; s-- > below;)
                ways[i][s] += ways[i - 1][s - below];
        }
    for (unsigned s = 0; s <= m * n; s++) {
        all += ways[m][s];
        sum += s <= u ? ways[m][s] : 0;
    }
    return sum / all;
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
    double u, p;

    if (!a->count || !b->count)
        return 1;
    tsm_samples_sort(a);
    tsm_samples_sort(b);
    r = rank(a, b);
    u = r.sum_a - m * (m + 1) / 2;
    if (r.ties > 0 || a->count > EXACT_MAX || b->count > EXACT_MAX)
        return normal_tails(m, n, u, r.ties);
    p = 2 * exact_tail((unsigned)a->count, (unsigned)b->count,
                       (unsigned)(u < m * n - u ? u : m * n - u));
    return p < 1 ? p : 1;
}
