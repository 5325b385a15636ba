/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/object_names.h"

#include "api/traits.h"
#include "base/hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_NAME_MAX 64

/* An object type has two names, the type's and its value in a table of types: they are one. */
static uint64_t key_of(const char *type, uint64_t id)
{
    char plain[TYPE_NAME_MAX];
    size_t size = 0;

    type = tsm_object_type_stem(type);
    for (; *type && size < sizeof(plain); type++)
        if (*type != '_')
            plain[size++] = (char)tolower((unsigned char)*type);
    return tsm_hash64(plain, size) ^ id * 0x9e3779b97f4a7c15u;
}

static void put(struct tsm_map *map, uint64_t key, const char *text)
{
    bool added;
    uint64_t *place = tsm_map_insert(map, key, &added);

    if (!place)
        return;
    free((void *)(uintptr_t)*place);
    *place = (uint64_t)(uintptr_t)(*text ? strdup(text) : NULL);
}

static const char *get(const struct tsm_map *map, uint64_t key)
{
    const uint64_t *place = tsm_map_find(map, key);

    return place ? (const char *)(uintptr_t)*place : NULL;
}

static void finish(struct tsm_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].used)
            free((void *)(uintptr_t)map->slots[i].value);
    tsm_map_finish(map);
}

void tsm_object_names_finish(struct tsm_object_names *n)
{
    finish(&n->names);
    finish(&n->shaders);
}

const char *tsm_object_name(const struct tsm_object_names *n, const char *type, uint64_t id)
{
    return n->names.count ? get(&n->names, key_of(type, id)) : NULL;
}

const char *tsm_object_shaders(const struct tsm_object_names *n, const char *type, uint64_t id)
{
    return n->shaders.count ? get(&n->shaders, key_of(type, id)) : NULL;
}

void tsm_object_names_put(struct tsm_object_names *n, const char *type, uint64_t id,
                          const char *name)
{
    put(&n->names, key_of(type, id), name);
}

void tsm_object_shaders_put(struct tsm_object_names *n, const char *type, uint64_t id,
                            const char *hashes)
{
    put(&n->shaders, key_of(type, id), hashes);
}
