/* SPDX-License-Identifier: Apache-2.0 */
#include "format/map.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stdlib.h>
#include <sys/random.h>

static uint64_t map_seed(void)
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

static uint64_t mix(uint64_t x)
{
    x ^= map_seed();
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

void sbt_map_finish(struct sbt_map *m)
{
    free(m->slots);
    *m = (struct sbt_map){0};
}

static struct sbt_map_slot *map_place(const struct sbt_map *m, uint64_t key)
{
    size_t i = mix(key) & (m->capacity - 1);

    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return &m->slots[i];
}

uint64_t *sbt_map_find(const struct sbt_map *m, uint64_t key)
{
    struct sbt_map_slot *slot;

    if (!m->capacity)
        return NULL;
    slot = map_place(m, key);
    return slot->used ? &slot->value : NULL;
}

static bool map_grow(struct sbt_map *m)
{
    struct sbt_map bigger = {.capacity = m->capacity ? m->capacity * 2 : 64, .count = m->count};

    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].used)
            *map_place(&bigger, m->slots[i].key) = m->slots[i];
    }
    free(m->slots);
    *m = bigger;
    return true;
}

uint64_t *sbt_map_insert(struct sbt_map *m, uint64_t key, bool *added)
{
    struct sbt_map_slot *slot;

    if (2 * (m->count + 1) > m->capacity && !map_grow(m))
        return NULL;
    slot = map_place(m, key);
    *added = !slot->used;
    if (*added) {
        *slot = (struct sbt_map_slot){.key = key, .used = true};
        m->count++;
    }
    return &slot->value;
}

/* What stands behind it in a row is moved up, where its way from its hash leads over the gap. */
void sbt_map_remove(struct sbt_map *m, uint64_t key)
{
    struct sbt_map_slot *slot = m->capacity ? map_place(m, key) : NULL;
    size_t mask = m->capacity - 1, gap;

    if (!slot || !slot->used)
        return;
    gap = (size_t)(slot - m->slots);
    for (size_t i = (gap + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
        size_t home = mix(m->slots[i].key) & mask;

        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        m->slots[gap] = m->slots[i];
        gap = i;
    }
    m->slots[gap] = (struct sbt_map_slot){0};
    m->count--;
}

void sbt_keyset_finish(struct sbt_keyset *s)
{
    free(s->slots);
    *s = (struct sbt_keyset){0};
}

uint64_t sbt_key_hash(const struct sbt_key *key)
{
    return mix(mix(tsm_get_u64(key->bytes)) ^ tsm_get_u64(key->bytes + 8));
}

static struct sbt_key *keyset_place(const struct sbt_keyset *s, const struct sbt_key *key)
{
    size_t i = sbt_key_hash(key) & (s->capacity - 1);

    while (!tsm_key_is_zero(&s->slots[i]) && !tsm_key_equal(&s->slots[i], key))
        i = (i + 1) & (s->capacity - 1);
    return &s->slots[i];
}

bool sbt_keyset_has(const struct sbt_keyset *s, const struct sbt_key *key)
{
    return s->capacity && !tsm_key_is_zero(keyset_place(s, key));
}

static bool keyset_grow(struct sbt_keyset *s)
{
    struct sbt_keyset bigger = *s;

    bigger.capacity = s->capacity ? s->capacity * 2 : 256;

    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < s->capacity; i++) {
        if (!tsm_key_is_zero(&s->slots[i]))
            *keyset_place(&bigger, &s->slots[i]) = s->slots[i];
    }
    free(s->slots);
    *s = bigger;
    return true;
}

bool sbt_keyset_add(struct sbt_keyset *s, const struct sbt_key *key)
{
    if (s->count >= SBT_KEYSET_MAX && !s->is_unbounded)
        return false;
    if (2 * (s->count + 1) > s->capacity && !keyset_grow(s))
        return false;
    *keyset_place(s, key) = *key;
    s->count++;
    return true;
}
