/* SPDX-License-Identifier: Apache-2.0 */
#include "format/keyset.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>

void sbt_keyset_finish(struct sbt_keyset *s)
{
    free(s->slots);
    *s = (struct sbt_keyset){0};
}

uint64_t sbt_key_hash(const struct sbt_key *key)
{
    return tsm_map_hash(tsm_map_hash(tsm_get_u64(key->bytes)) ^ tsm_get_u64(key->bytes + 8));
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
