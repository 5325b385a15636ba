/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3 for one instruction set. Included by base/hash_{sse2,avx2,avx512}.c, each compiled with its
 * own -m option and with HASH_NAME(x) giving x a name of its own.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

void HASH_NAME(tsm_hash128)(uint8_t out[16], const void *data, size_t size);
uint64_t HASH_NAME(tsm_hash64)(const void *data, size_t size);

void HASH_NAME(tsm_hash128)(uint8_t out[16], const void *data, size_t size)
{
    XXH128_canonicalFromHash((XXH128_canonical_t *)(void *)out, XXH3_128bits(data, size));
}

uint64_t HASH_NAME(tsm_hash64)(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}
