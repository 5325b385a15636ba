/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/places.h"

#include <stdlib.h>
#include <string.h>

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

/* Notes the places of functions that a graph calls, after `position`. */
static void note_functions(struct tsm_places *p, uint64_t position, uint64_t count)
{
    p->count += count;
    p->sum += sum_to(position + count) - sum_to(position);
    p->square_sum += square_sum_to(position + count) - square_sum_to(position);
    if (position + count < p->last)
        return;
    p->last = position + count;
    p->more = 0;
}

void tsm_places_note(struct tsm_places *p, const struct sbt_record *record, uint64_t functions)
{
    uint64_t position = record->position;

    if (record->stream == SBT_STREAM_NONE || !position)
        return;
    if (!p->count || position < p->first)
        p->first = position;
    p->count++;
    p->sum += position;
    p->square_sum += position * position;
    if (position > p->last) {
        uint64_t gap = position - p->last - 1;
        p->free_count += gap < p->more ? gap : p->more;
        p->last = position;
        p->more = functions & ~TSM_GRAPH_FUNCTIONS_UNSURE;
    }
    if (functions && !(functions & TSM_GRAPH_FUNCTIONS_UNSURE))
        note_functions(p, position, functions);
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
    /* The count is right, but one place occurs twice. */
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
