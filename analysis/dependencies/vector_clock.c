/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/vector_clock.h"

#include "base/array.h"

#include <stdlib.h>

static size_t place_of(const struct tsm_vector_clock *c, uint32_t stream)
{
    size_t at;

    TSM_BISECT(at, c->count, c->list[at].stream >= stream);
    return at;
}

bool tsm_vector_clock_has(const struct tsm_vector_clock *c, uint32_t stream, uint64_t position)
{
    const size_t at = place_of(c, stream);

    return at < c->count && c->list[at].stream == stream && c->list[at].position >= position;
}

bool tsm_vector_clock_add(struct tsm_vector_clock *c, uint32_t stream, uint64_t position)
{
    const size_t at = place_of(c, stream);

    if (at == c->count || c->list[at].stream != stream)
        return TSM_ARRAY_INSERT(c->list, c->count, c->capacity, at,
                                ((struct tsm_vector_clock_entry){stream, position}));
    if (c->list[at].position < position)
        c->list[at].position = position;
    return true;
}

/* Counts the streams of `with` that `c` does not know. */
static size_t count_new(const struct tsm_vector_clock *c, const struct tsm_vector_clock *with)
{
    size_t count = 0, at = 0;

    for (size_t i = 0; i < with->count; i++) {
        while (at < c->count && c->list[at].stream < with->list[i].stream)
            at++;
        count += at == c->count || c->list[at].stream != with->list[i].stream;
    }
    return count;
}

/* Merges from the end, so that nothing is overwritten before it was read. */
bool tsm_vector_clock_join(struct tsm_vector_clock *c, const struct tsm_vector_clock *with)
{
    size_t a = c->count, b = with->count, to = c->count + count_new(c, with);

    if (c == with || !b)
        return true;
    if (!TSM_ARRAY_RESERVE(c->list, c->capacity, to))
        return false;
    c->count = to;
    while (b) {
        struct tsm_vector_clock_entry entry = with->list[b - 1];

        if (a && c->list[a - 1].stream > entry.stream) {
            c->list[--to] = c->list[--a];
            continue;
        }
        if (a && c->list[a - 1].stream == entry.stream) {
            a--;
            if (c->list[a].position > entry.position)
                entry.position = c->list[a].position;
        }
        c->list[--to] = entry;
        b--;
    }
    return true;
}

bool tsm_vector_clock_copy(struct tsm_vector_clock *c, const struct tsm_vector_clock *from)
{
    if (!TSM_ARRAY_RESERVE(c->list, c->capacity, from->count))
        return false;
    if (from->count)
        memcpy(c->list, from->list, from->count * sizeof(*c->list));
    c->count = from->count;
    return true;
}

void tsm_vector_clock_finish(struct tsm_vector_clock *c)
{
    free(c->list);
    *c = (struct tsm_vector_clock){0};
}
