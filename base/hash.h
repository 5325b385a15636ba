/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3, compiled in: the shared library has only SSE2 and loses a factor of three
 * (research: 20 GB/s against 57). The widest unit of this CPU is chosen at the first call.
 * Seed 0 everywhere, canonical (big-endian) byte order for keys, as in the xxHash specification
 * 0.1.1, so that any XXH3 implementation gives the same bytes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "tracesmith/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sbt_key tsm_hash_key(const void *data, size_t size);
uint64_t tsm_hash64(const void *data, size_t size);

/* A hash over several pieces, in order. A zeroed struct is not valid: call init. */
struct tsm_hasher;
#define TSM_HASHER_SIZE 640
struct tsm_hasher_storage {
    uint8_t bytes[TSM_HASHER_SIZE] __attribute__((aligned(64)));
};
struct tsm_hasher *tsm_hasher_init(struct tsm_hasher_storage *storage);
void tsm_hasher_add(struct tsm_hasher *h, const void *data, size_t size);
struct sbt_key tsm_hasher_key(const struct tsm_hasher *h);

static inline bool tsm_key_equal(const struct sbt_key *a, const struct sbt_key *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool tsm_key_is_zero(const struct sbt_key *key)
{
    static const struct sbt_key zero;
    return tsm_key_equal(key, &zero);
}

/* Lowercase hexadecimal, 32 digits and a terminator. */
void tsm_key_text(char out[33], const struct sbt_key *key);

#endif
