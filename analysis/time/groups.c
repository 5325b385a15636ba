/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/groups.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t text_hash(const char *text)
{
    return text ? tsm_hash64(text, strlen(text)) : 0;
}

static uint64_t key_hash(const struct tsm_time_key *key)
{
    const uint64_t parts[] = {text_hash(key->name),
                              text_hash(key->label),
                              (uint64_t)key->work << 32 | (uint64_t)key->from << 8 | key->to,
                              (uint64_t)key->grid[0] << 32 | key->grid[1],
                              (uint64_t)key->grid[2] << 32 | key->block[0],
                              (uint64_t)key->block[1] << 32 | key->block[2],
                              key->stream,
                              (uint64_t)key->thread << 32 | key->stack,
                              (uint64_t)key->device.api << 32 | key->device.kind,
                              text_hash(key->device.type),
                              key->device.number};

    return tsm_hash64(parts, sizeof(parts));
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct tsm_time_key *a, const struct tsm_time_key *b)
{
    return a->work == b->work && a->from == b->from && a->to == b->to && a->stream == b->stream &&
           a->thread == b->thread && a->stack == b->stack &&
           memcmp(a->grid, b->grid, sizeof(a->grid)) == 0 &&
           memcmp(a->block, b->block, sizeof(a->block)) == 0 &&
           tsm_device_is_same(&a->device, &b->device) && is_same_text(a->name, b->name) &&
           is_same_text(a->label, b->label);
}

/* Returns the group among those that begin at place - 1, linked by `next`. */
static struct tsm_time_group *find_from(const struct tsm_time_groups *g, size_t place,
                                        const struct tsm_time_key *key)
{
    for (; place; place = g->list[place - 1].next)
        if (is_same(&g->list[place - 1].key, key))
            return &g->list[place - 1];
    return NULL;
}

struct tsm_time_group *tsm_time_groups_lookup(const struct tsm_time_groups *g,
                                              const struct tsm_time_key *key)
{
    return find_from(g, tsm_map_get(&g->places, key_hash(key), 0), key);
}

struct tsm_time_group *tsm_time_groups_find(struct tsm_time_groups *g,
                                            const struct tsm_time_key *key)
{
    bool added;
    uint64_t *place = tsm_map_insert(&g->places, key_hash(key), &added);
    struct tsm_time_group *found = place ? find_from(g, *place, key) : NULL;

    if (found || !place)
        return found;
    if (!TSM_ARRAY_PUSH(g->list, g->count, g->capacity,
                        (struct tsm_time_group){.key = *key, .next = *place}))
        return NULL;
    *place = g->count;
    return &g->list[g->count - 1];
}

bool tsm_time_groups_index(struct tsm_time_groups *g)
{
    bool added;

    tsm_map_finish(&g->places);
    for (size_t i = 0; i < g->count; i++) {
        uint64_t *place = tsm_map_insert(&g->places, key_hash(&g->list[i].key), &added);

        if (!place)
            return false;
        g->list[i].next = *place;
        *place = i + 1;
    }
    return true;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare(const void *a, const void *b)
{
    const struct tsm_time_group *x = a, *y = b;
    int order;

    if (x->ns.total != y->ns.total)
        return x->ns.total > y->ns.total ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    order = compare_text(x->key.name, y->key.name);
    return order ? order : compare_text(x->key.label, y->key.label);
}

void tsm_time_groups_sort(struct tsm_time_groups *g)
{
    tsm_map_finish(&g->places);
    if (g->count)
        qsort(g->list, g->count, sizeof(*g->list), compare);
}

void tsm_time_groups_finish(struct tsm_time_groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        tsm_samples_finish(&g->list[i].ns);
    free(g->list);
    tsm_map_finish(&g->places);
    *g = (struct tsm_time_groups){0};
}
