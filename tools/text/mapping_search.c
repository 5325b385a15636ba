/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/mapping_search.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

struct edge {
    uint64_t address;
    size_t mapping;
};

/* The mappings that cover where the sweep is, the latest one first, and some that ended. */
struct heap {
    size_t *indexes;
    size_t count;
};

static int by_address(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static void swap(size_t *a, size_t *b)
{
    size_t was = *a;

    *a = *b;
    *b = was;
}

static void push(struct heap *h, size_t index)
{
    size_t at = h->count++;

    h->indexes[at] = index;
    for (; at && h->indexes[(at - 1) / 2] < h->indexes[at]; at = (at - 1) / 2)
        swap(&h->indexes[at], &h->indexes[(at - 1) / 2]);
}

static void pop(struct heap *h)
{
    size_t at = 0, child;

    h->indexes[0] = h->indexes[--h->count];
    while ((child = 2 * at + 1) < h->count) {
        child += child + 1 < h->count && h->indexes[child + 1] > h->indexes[child];
        if (h->indexes[child] <= h->indexes[at])
            break;
        swap(&h->indexes[at], &h->indexes[child]);
        at = child;
    }
}

/* Lists the starts and ends of mappings; `edges` has room for two a mapping. */
static size_t find_edges(struct edge *edges, struct sbt_reader *reader)
{
    size_t count = 0;

    for (size_t i = 0; i < sbt_reader_mapping_count(reader); i++) {
        const struct sbt_mapping *m = sbt_reader_mapping(reader, i);
        if (!m || m->start >= m->end)
            continue;
        edges[count++] = (struct edge){m->start, i};
        edges[count++] = (struct edge){m->end, MAPPING_NONE};
    }
    qsort(edges, count, sizeof(*edges), by_address);
    return count;
}

static void sweep(struct mapping_search *search, struct sbt_reader *reader, struct heap *h,
                  const struct edge *edges, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint64_t address = edges[i].address;

        for (; i < count && edges[i].address == address; i++)
            if (edges[i].mapping != MAPPING_NONE)
                push(h, edges[i].mapping);
        while (h->count && sbt_reader_mapping(reader, h->indexes[0])->end <= address)
            pop(h);
        search->parts[search->count++] =
            (struct mapping_part){address, h->count ? h->indexes[0] : MAPPING_NONE};
    }
}

int mapping_search_init(struct mapping_search *search, struct sbt_reader *reader)
{
    size_t room = 2 * sbt_reader_mapping_count(reader) + 1, count;
    struct edge *edges = calloc(room, sizeof(*edges));
    struct heap heap = {.indexes = calloc(room, sizeof(size_t))};

    *search = (struct mapping_search){.parts = calloc(room, sizeof(*search->parts))};
    if (edges && heap.indexes && search->parts) {
        count = find_edges(edges, reader);
        sweep(search, reader, &heap, edges, count);
    }
    count = edges && heap.indexes && search->parts;
    free(edges);
    free(heap.indexes);
    return count ? 0 : TSM_E_MEMORY;
}

void mapping_search_finish(struct mapping_search *search)
{
    free(search->parts);
    *search = (struct mapping_search){0};
}

size_t mapping_search_find(const struct mapping_search *search, uint64_t address)
{
    size_t at;

    TSM_BISECT(at, search->count, search->parts[at].start > address);
    return at ? search->parts[at - 1].mapping : MAPPING_NONE;
}
