/* SPDX-License-Identifier: Apache-2.0 */
#include "format/values/names.h"

#include <string.h>

#define PRIME (((uint64_t)1 << 61) - 1)

static uint64_t times(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

    return sum >= PRIME ? sum - PRIME : sum;
}

/* A polynomial of the bytes at a random place: two names of n bytes meet with a chance of n in
 * 2^61. */
uint64_t sbt_name_hash(const char *name)
{
    uint64_t base = tsm_map_seed() & PRIME, hash = 1;

    for (; *name; name++)
        hash = times(hash, base) + (uint8_t)*name + 1;
    return hash;
}

/* Names that meet all the same stand after each other. */
const uint64_t *sbt_names_find(const struct tsm_map *map, const char *name, sbt_name_at *at,
                               const void *list)
{
    uint64_t key = sbt_name_hash(name);
    const uint64_t *place = tsm_map_find(map, key);

    while (place && strcmp(at(list, *place), name) != 0)
        place = tsm_map_find(map, ++key);
    return place;
}

uint64_t *sbt_names_insert(struct tsm_map *map, const char *name, sbt_name_at *at, const void *list,
                           bool *added)
{
    uint64_t key = sbt_name_hash(name);
    uint64_t *place = tsm_map_insert(map, key, added);

    while (place && !*added && strcmp(at(list, *place), name) != 0)
        place = tsm_map_insert(map, ++key, added);
    return place;
}
