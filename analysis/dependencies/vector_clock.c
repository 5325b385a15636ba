/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/vector_clock.h"

#include "base/array.h"

#include <stdlib.h>

#define CLOCK_MAX   1024u      /* entries of one clock: joining takes as long */
#define ENTRIES_MAX (1u << 24) /* of all of a budget: 256 MiB */

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

uint64_t tsm_vector_clock_until(const struct tsm_vector_clock *c, uint32_t stream)
{
    const size_t at = place_of(c, stream);

    return at < c->count && c->list[at].stream == stream ? c->list[at].position : 0;
}

bool tsm_vector_clock_add(struct tsm_vector_clock *c, struct tsm_vector_budget *budget,
                          uint32_t stream, uint64_t position)
{
    const size_t at = place_of(c, stream);

    if (at == c->count || c->list[at].stream != stream) {
        if (budget->used >= ENTRIES_MAX || c->count >= CLOCK_MAX)
            return true;
        if (!TSM_ARRAY_INSERT(c->list, c->count, c->capacity, at,
                              ((struct tsm_vector_clock_entry){stream, position})))
            return false;
        budget->used++;
        return true;
    }
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
bool tsm_vector_clock_join(struct tsm_vector_clock *c, struct tsm_vector_budget *budget,
                           const struct tsm_vector_clock *with)
{
    const size_t added = c == with ? 0 : count_new(c, with);
    size_t a = c->count, b = with->count, to = c->count + added;

    if (c == with || !b || added > ENTRIES_MAX - budget->used || to > CLOCK_MAX)
        return true;
    if (!TSM_ARRAY_RESERVE(c->list, c->capacity, to))
        return false;
    budget->used += added;
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

void tsm_vector_clock_empty(struct tsm_vector_clock *c, struct tsm_vector_budget *budget)
{
    budget->used -= c->count;
    c->count = 0;
}

/* Makes room for just so many: of copies there are many. */
static bool reserve_exactly(struct tsm_vector_clock *c, size_t count)
{
    struct tsm_vector_clock_entry *list;

    if (c->capacity >= count)
        return true;
    list = realloc(c->list, count * sizeof(*list));
    if (!list)
        return false;
    c->list = list;
    c->capacity = count;
    return true;
}

bool tsm_vector_clock_copy(struct tsm_vector_clock *c, struct tsm_vector_budget *budget,
                           const struct tsm_vector_clock *from)
{
    tsm_vector_clock_empty(c, budget);
    if (from->count > ENTRIES_MAX - budget->used)
        return true;
    if (!reserve_exactly(c, from->count))
        return false;
    if (from->count)
        memcpy(c->list, from->list, from->count * sizeof(*c->list));
    c->count = from->count;
    budget->used += from->count;
    return true;
}

void tsm_vector_clock_finish(struct tsm_vector_clock *c)
{
    free(c->list);
    *c = (struct tsm_vector_clock){0};
}
