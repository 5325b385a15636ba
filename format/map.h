/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash maps of the trace format library: open addressing. The hash is mixed with a
 * value drawn per process, so that a hostile file cannot choose keys that collide.
 */
#ifndef FORMAT_MAP_H
#define FORMAT_MAP_H

#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* u64 -> u64. A zeroed struct is an empty map. */
struct sbt_map {
    struct sbt_map_slot {
        uint64_t key, value;
        bool used;
    } * slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

void sbt_map_finish(struct sbt_map *m);

/* The value's place, valid until the next insertion; NULL when absent. */
uint64_t *sbt_map_find(const struct sbt_map *m, uint64_t key);

/* The value's place, made (as 0) when absent; *added tells. NULL when out of memory. */
uint64_t *sbt_map_insert(struct sbt_map *m, uint64_t key, bool *added);

/* Absent keys are fine. Moves others: no place from before is valid. The map takes no more room than
 * its largest count needed. */
void sbt_map_remove(struct sbt_map *m, uint64_t key);

/* The hash of a piece's key for tables of others' own. */
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
