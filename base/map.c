/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/clock.h"

#include <stdlib.h>
#include <sys/random.h>

uint64_t tsm_map_seed(void)
{
    static uint64_t seed;
    uint64_t value = __atomic_load_n(&seed, __ATOMIC_RELAXED);

    if (value)
        return value;
    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value))
        value = tsm_ticks() * 0x9e3779b97f4a7c15u;
    value |= 1;
    /* The first thread's draw counts for all: a map must not change its hash. */
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&seed, &none, value, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        value = none;
    return value;
}

uint64_t tsm_map_hash(uint64_t x)
{
    x ^= tsm_map_seed();
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

void tsm_map_finish(struct tsm_map *m)
{
    free(m->slots);
    *m = (struct tsm_map){0};
}

static struct tsm_map_slot *slot_of(const struct tsm_map *m, uint64_t key)
{
    size_t i = tsm_map_hash(key) & (m->capacity - 1);

    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return &m->slots[i];
}

uint64_t *tsm_map_find(const struct tsm_map *m, uint64_t key)
{
    struct tsm_map_slot *slot;

    if (!m->capacity)
        return NULL;
    slot = slot_of(m, key);
    return slot->used ? &slot->value : NULL;
}

static bool map_grow(struct tsm_map *m)
{
    struct tsm_map bigger = {.capacity = m->capacity ? m->capacity * 2 : 64, .count = m->count};

    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].used)
            *slot_of(&bigger, m->slots[i].key) = m->slots[i];
    }
    free(m->slots);
    *m = bigger;
    return true;
}

uint64_t *tsm_map_insert(struct tsm_map *m, uint64_t key, bool *added)
{
    struct tsm_map_slot *slot;

    if (2 * (m->count + 1) > m->capacity && !map_grow(m))
        return NULL;
    slot = slot_of(m, key);
    *added = !slot->used;
    if (*added) {
        *slot = (struct tsm_map_slot){.key = key, .used = true};
        m->count++;
    }
    return &slot->value;
}

bool tsm_map_set(struct tsm_map *m, uint64_t key, uint64_t value)
{
    bool added;
    uint64_t *place = tsm_map_insert(m, key, &added);

    if (place)
        *place = value;
    return place;
}

uint64_t tsm_map_get(const struct tsm_map *m, uint64_t key, uint64_t absent)
{
    const uint64_t *place = tsm_map_find(m, key);

    return place ? *place : absent;
}

/* Moves up the slots that follow in the row, where the way from their hash leads over the gap. */
void tsm_map_remove(struct tsm_map *m, uint64_t key)
{
    struct tsm_map_slot *slot = m->capacity ? slot_of(m, key) : NULL;
    size_t mask = m->capacity - 1, gap;

    if (!slot || !slot->used)
        return;
    gap = (size_t)(slot - m->slots);
    for (size_t i = (gap + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
        size_t home = tsm_map_hash(m->slots[i].key) & mask;

        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        m->slots[gap] = m->slots[i];
        gap = i;
    }
    m->slots[gap] = (struct tsm_map_slot){0};
    m->count--;
}
