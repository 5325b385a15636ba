/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/places.h"

#include <stdlib.h>
#include <string.h>

/* Tests for a command that may take places behind its own without a record: one for each function of
 * the program that a graph calls. */
static bool takes_more(const struct sbt_record *record)
{
    return record->type == TSM_PLACES_GRAPH_LAUNCH || record->type == TSM_PLACES_GRAPH_LAUNCH_PTSZ;
}

void tsm_places_note(struct tsm_places *p, const struct sbt_record *record)
{
    uint64_t position = record->position;

    if (record->stream == SBT_STREAM_NONE || !position)
        return;
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
    p->last_takes_more = takes_more(record);
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

uint64_t tsm_places_known(const struct sbt_reader *reader, uint32_t stream)
{
    const char *at = sbt_reader_metadata_find(reader, TSM_PLACES_METADATA);

    while (at && *at) {
        char *colon, *end;
        unsigned long long number = strtoull(at, &colon, 10);
        if (*colon != ':')
            break;
        unsigned long long count = strtoull(colon + 1, &end, 10);
        if (number == stream)
            return count;
        at = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}
