/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CHUNK_MAX 256u

struct emu_range_chunk {
    uint64_t gap; /* the largest one between ranges of it */
    unsigned count;
    struct emu_range ranges[CHUNK_MAX];
};

static uint64_t end_of(const struct emu_range *range)
{
    return range->start + range->size;
}

static const struct emu_range *last_of(const struct emu_range_chunk *chunk)
{
    return &chunk->ranges[chunk->count - 1];
}

/* ---- finding ---- */

struct emu_range_place emu_ranges_find(const struct emu_ranges *r, uint64_t address)
{
    struct emu_range_place place = {0, 0};
    const struct emu_range_chunk *chunk;

    TSM_BISECT(place.chunk, r->count, end_of(last_of(r->chunks[place.chunk])) > address);
    if (place.chunk == r->count)
        return place;
    chunk = r->chunks[place.chunk];
    TSM_BISECT(place.at, chunk->count, end_of(&chunk->ranges[place.at]) > address);
    return place;
}

struct emu_range *emu_ranges_at(const struct emu_ranges *r, struct emu_range_place place)
{
    return place.chunk < r->count ? &r->chunks[place.chunk]->ranges[place.at] : NULL;
}

struct emu_range *emu_ranges_holder(const struct emu_ranges *r, uint64_t address)
{
    struct emu_range *range = emu_ranges_at(r, emu_ranges_find(r, address));

    return range && range->start <= address ? range : NULL;
}

void emu_ranges_next(const struct emu_ranges *r, struct emu_range_place *place)
{
    if (++place->at == r->chunks[place->chunk]->count)
        *place = (struct emu_range_place){place->chunk + 1, 0};
}

struct emu_range *emu_ranges_before(const struct emu_ranges *r, struct emu_range_place place)
{
    struct emu_range_chunk *chunk;

    if (place.at)
        return &r->chunks[place.chunk]->ranges[place.at - 1];
    if (!place.chunk)
        return NULL;
    chunk = r->chunks[place.chunk - 1];
    return &chunk->ranges[chunk->count - 1];
}

/* ---- changes ---- */

/* Finds the largest gap of a chunk anew. */
static void measure(struct emu_range_chunk *chunk)
{
    chunk->gap = 0;
    for (unsigned i = 1; i < chunk->count; i++) {
        const uint64_t gap = chunk->ranges[i].start - end_of(&chunk->ranges[i - 1]);

        if (gap > chunk->gap)
            chunk->gap = gap;
    }
}

static bool add_chunk(struct emu_ranges *r, size_t at)
{
    struct emu_range_chunk *chunk = malloc(sizeof(*chunk));

    if (!chunk || !TSM_ARRAY_INSERT(r->chunks, r->count, r->capacity, at, chunk)) {
        free(chunk);
        return false;
    }
    chunk->count = 0;
    return true;
}

/* Moves the second half of a full chunk into a new one; of the last chunk nothing, for it will grow
 * at its end. */
static bool split(struct emu_ranges *r, struct emu_range_place *place)
{
    const bool is_end = place->chunk + 1 == r->count && place->at == CHUNK_MAX;
    const unsigned kept = is_end ? CHUNK_MAX : CHUNK_MAX / 2;
    struct emu_range_chunk *from, *to;

    if (!add_chunk(r, place->chunk + 1))
        return false;
    from = r->chunks[place->chunk];
    to = r->chunks[place->chunk + 1];
    to->count = CHUNK_MAX - kept;
    memcpy(to->ranges, from->ranges + kept, to->count * sizeof(*to->ranges));
    from->count = kept;
    measure(from);
    measure(to);
    if (place->at > kept || is_end)
        *place = (struct emu_range_place){place->chunk + 1, place->at - kept};
    return true;
}

bool emu_ranges_add(struct emu_ranges *r, struct emu_range range)
{
    struct emu_range_place place = emu_ranges_find(r, range.start);
    struct emu_range_chunk *chunk;

    if (place.chunk == r->count) { /* it goes behind the last one */
        if (!r->count && !add_chunk(r, 0))
            return false;
        place = (struct emu_range_place){r->count - 1, r->chunks[r->count - 1]->count};
    }
    if (r->chunks[place.chunk]->count == CHUNK_MAX && !split(r, &place))
        return false;
    chunk = r->chunks[place.chunk];
    memmove(&chunk->ranges[place.at + 1], &chunk->ranges[place.at],
            (chunk->count - place.at) * sizeof(*chunk->ranges));
    chunk->ranges[place.at] = range;
    chunk->count++;
    measure(chunk);
    return true;
}

void emu_ranges_remove(struct emu_ranges *r, struct emu_range_place place)
{
    struct emu_range_chunk *chunk = r->chunks[place.chunk];

    chunk->count--;
    memmove(&chunk->ranges[place.at], &chunk->ranges[place.at + 1],
            (chunk->count - place.at) * sizeof(*chunk->ranges));
    measure(chunk);
    if (!chunk->count) {
        free(chunk);
        TSM_ARRAY_REMOVE(r->chunks, r->count, place.chunk);
    }
}

void emu_ranges_resize(struct emu_ranges *r, struct emu_range_place place, uint64_t size)
{
    emu_ranges_at(r, place)->size = size;
    measure(r->chunks[place.chunk]);
}

/* ---- gaps ---- */

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

uint64_t emu_ranges_first_gap(const struct emu_ranges *r, uint64_t from, uint64_t end,
                              uint64_t size, uint64_t alignment)
{
    struct emu_range_place place = emu_ranges_find(r, from);
    uint64_t address = align_up(from, alignment);

    while (address + size <= end) {
        const struct emu_range *range = emu_ranges_at(r, place);

        if (!range || range->start >= address + size)
            return address;
        if (!place.at && r->chunks[place.chunk]->gap < size)
            place.at = r->chunks[place.chunk]->count - 1; /* there is no room between them */
        address = align_up(end_of(emu_ranges_at(r, place)), alignment);
        emu_ranges_next(r, &place);
    }
    return 0;
}
