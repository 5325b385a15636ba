/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <cpuid.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void tsm_hash128_sse2(uint8_t out[16], const void *data, size_t size);
void tsm_hash128_avx2(uint8_t out[16], const void *data, size_t size);
void tsm_hash128_avx512(uint8_t out[16], const void *data, size_t size);
uint64_t tsm_hash64_sse2(const void *data, size_t size);
uint64_t tsm_hash64_avx2(const void *data, size_t size);
uint64_t tsm_hash64_avx512(const void *data, size_t size);

typedef void hash128_fn(uint8_t out[16], const void *data, size_t size);
typedef uint64_t hash64_fn(const void *data, size_t size);

/* Not __builtin_cpu_supports(): it brings a constructor that asks the processor a score of
 * questions in every program that is started with us preloaded, and in a virtual machine each is
 * answered by the host. */
enum width { WIDTH_SSE2, WIDTH_AVX2, WIDTH_AVX512 };

static enum width width(void)
{
    unsigned a, b, c, d, low, high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return WIDTH_SSE2;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* what the system saves */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (low & 6) != 6)
        return WIDTH_SSE2;
    if ((b & bit_AVX512F) && (low & 0xe0) == 0xe0)
        return WIDTH_AVX512;
    return b & bit_AVX2 ? WIDTH_AVX2 : WIDTH_SSE2;
}

static hash128_fn hash128_choose;
static hash64_fn hash64_choose;

/* Each starts as its own resolver, so that a call never tests for NULL. Two threads that resolve at
 * once store the same value. */
static hash128_fn *hash128 = hash128_choose;
static hash64_fn *hash64 = hash64_choose;

static void hash128_choose(uint8_t out[16], const void *data, size_t size)
{
    static hash128_fn *const all[] = {tsm_hash128_sse2, tsm_hash128_avx2, tsm_hash128_avx512};
    hash128_fn *chosen = all[width()];

    __atomic_store_n(&hash128, chosen, __ATOMIC_RELAXED);
    chosen(out, data, size);
}

static uint64_t hash64_choose(const void *data, size_t size)
{
    static hash64_fn *const all[] = {tsm_hash64_sse2, tsm_hash64_avx2, tsm_hash64_avx512};
    hash64_fn *chosen = all[width()];

    __atomic_store_n(&hash64, chosen, __ATOMIC_RELAXED);
    return chosen(data, size);
}

struct sbt_key tsm_hash_key(const void *data, size_t size)
{
    struct sbt_key key;

    __atomic_load_n(&hash128, __ATOMIC_RELAXED)(key.bytes, data, size);
    return key;
}

uint64_t tsm_hash64(const void *data, size_t size)
{
    return __atomic_load_n(&hash64, __ATOMIC_RELAXED)(data, size);
}

_Static_assert(sizeof(XXH3_state_t) <= TSM_HASHER_SIZE, "TSM_HASHER_SIZE is too small");

struct tsm_hasher *tsm_hasher_init(struct tsm_hasher_storage *storage)
{
    XXH3_state_t *state = (XXH3_state_t *)(void *)storage->bytes;

    XXH3_INITSTATE(state);
    XXH3_128bits_reset(state);
    return (struct tsm_hasher *)state;
}

void tsm_hasher_add(struct tsm_hasher *h, const void *data, size_t size)
{
    XXH3_128bits_update((XXH3_state_t *)h, data, size);
}

struct sbt_key tsm_hasher_key(const struct tsm_hasher *h)
{
    struct sbt_key key;

    XXH128_canonicalFromHash((XXH128_canonical_t *)(void *)key.bytes,
                             XXH3_128bits_digest((const XXH3_state_t *)h));
    return key;
}

void tsm_key_text(char out[33], const struct sbt_key *key)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++) {
        out[2 * i] = digits[key->bytes[i] >> 4];
        out[2 * i + 1] = digits[key->bytes[i] & 15];
    }
    out[32] = '\0';
}
