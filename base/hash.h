/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3, compiled in: the shared library has only SSE2 and loses a factor of three
 * (research: 20 GB/s against 57). The widest unit of this CPU is chosen at the first call.
 * Seed 0 everywhere, canonical (big-endian) byte order for keys, as in the xxHash specification
 * 0.1.1, so that any XXH3 implementation gives the same bytes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The name of some bytes: their XXH3-128, canonical form. All zero is "no key" and never the hash
 * of anything that is stored. */
struct tsm_key {
    uint8_t bytes[16];
};

struct tsm_key tsm_hash_key(const void *data, size_t size);
uint64_t tsm_hash64(const void *data, size_t size);

/* A hash over several pieces, in order. A zeroed struct is not valid: call init. */
struct tsm_hasher;
#define TSM_HASHER_SIZE 640
struct tsm_hasher_storage {
    uint8_t bytes[TSM_HASHER_SIZE] __attribute__((aligned(64)));
};
struct tsm_hasher *tsm_hasher_init(struct tsm_hasher_storage *storage);
void tsm_hasher_add(struct tsm_hasher *h, const void *data, size_t size);
struct tsm_key tsm_hasher_key(const struct tsm_hasher *h);

static inline bool tsm_key_equal(const struct tsm_key *a, const struct tsm_key *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool tsm_key_is_none(const struct tsm_key *key)
{
    static const struct tsm_key none;
    return tsm_key_equal(key, &none);
}

/* Lowercase hexadecimal, 32 digits and a terminator. */
void tsm_key_text(char out[33], const struct tsm_key *key);

#endif
