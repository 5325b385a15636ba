/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/places.h"

void tsm_places_note(struct tsm_places *p, uint64_t position, bool takes_more)
{
    if (!p->count || position < p->first)
        p->first = position;
    p->count++;
    p->sum += position;
    p->square_sum += position * position;
    if (position <= p->last)
        return; /* one that was missing so far */
    if (p->last_takes_more)
        p->free_count += position - p->last - 1;
    p->last = position;
    p->last_takes_more = takes_more;
}

/* 1 + 2 + ... + n, modulo 2^64 */
static uint64_t sum_to(uint64_t n)
{
    return n % 2 ? (n + 1) / 2 * n : n / 2 * (n + 1);
}

/* 1 + 4 + ... + n^2 = n (n + 1) (2 n + 1) / 6, modulo 2^64 */
static uint64_t square_sum_to(uint64_t n)
{
    uint64_t factors[3] = {n, n + 1, 2 * n + 1};

    factors[n % 2] /= 2;
    for (int i = 0; i < 3; i++) {
        if (factors[i] % 3)
            continue;
        factors[i] /= 3;
        break;
    }
    return factors[0] * factors[1] * factors[2];
}

uint64_t tsm_places_missing(const struct tsm_places *p, bool from_first)
{
    uint64_t before = from_first ? 0 : p->first - 1;
    uint64_t places;

    if (!p->count)
        return 0;
    places = p->last - before;
    if (places > p->count + p->free_count)
        return places - p->count - p->free_count;
    /* As many as there should be, but one of them twice. */
    return !p->free_count && (p->sum != sum_to(p->last) - sum_to(before) ||
                              p->square_sum != square_sum_to(p->last) - square_sum_to(before));
}
