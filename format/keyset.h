/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of piece keys: open addressing, with the hash of base/map.h.
 */
#ifndef FORMAT_KEYSET_H
#define FORMAT_KEYSET_H

#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the hash of a piece's key, for tables of others' own. */
uint64_t sbt_key_hash(const struct sbt_key *key);

/* A set of piece keys. A zeroed struct is an empty set; the zero key is never in it. */
struct sbt_keyset {
    struct sbt_key *slots;
    size_t capacity;
    size_t count;
    bool is_unbounded; /* SBT_KEYSET_MAX does not count */
};

void sbt_keyset_finish(struct sbt_keyset *s);
bool sbt_keyset_has(const struct sbt_keyset *s, const struct sbt_key *key);

/* False when out of memory or full (SBT_KEYSET_MAX); the set is unchanged then. */
bool sbt_keyset_add(struct sbt_keyset *s, const struct sbt_key *key);

/* Bounds a writer's memory at 256 MiB for keys: 2^23 pieces, 512 GiB of different bytes when the
 * pieces are whole. What comes later is stored without looking for duplicates among itself. */
#ifndef SBT_KEYSET_MAX /* a test sets less */
#define SBT_KEYSET_MAX ((size_t)1 << 23)
#endif

#endif
