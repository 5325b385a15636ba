/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded addresses in bytes: where memory or variables could not be had where they were, words
 * that point there are made to point to the replay's, in what the program sends, in memory that it
 * writes, in checkpoints. Only words at multiples of 8 are: programs keep pointers there. Others
 * are counted, as nothing says that they are addresses. Recorded results may have either.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

static void count(uint64_t *counter, uint64_t by)
{
    if (by)
        __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* Counts what looks like an address of moved memory between the multiples of 8. */
static uint64_t count_unaligned(const struct cuda_memory *m, const uint8_t *bytes, uint64_t size,
                                uint64_t first)
{
    uint64_t found = 0;

    for (uint64_t at = 0; at + 8 <= size; at++) {
        const uint64_t word = at % 8 == first ? 0 : word_at(bytes + at);
        found += word && cuda_memory_translate_word(m, word) != word;
    }
    return found;
}

/* Returns how many words were translated. `first`: offset of the first multiple of 8. */
static uint64_t translate_words(const struct cuda_memory *m, uint8_t *bytes, uint64_t size,
                                uint64_t first)
{
    uint64_t translated = 0;

    for (uint64_t at = first; at + 8 <= size; at += 8) {
        const uint64_t word = word_at(bytes + at), actual = cuda_memory_translate_word(m, word);

        translated += word != actual;
        memcpy(bytes + at, &actual, sizeof(actual));
    }
    return translated;
}

void cuda_translate_sent(struct cuda_replay *replay, uint64_t address, void *bytes, uint64_t size)
{
    struct cuda_memory *m = &replay->memory;
    const uint64_t first = -address & 7;

    if (!m->moved_count)
        return;
    count(&m->doubtful_count, count_unaligned(m, bytes, size, first));
    count(&m->translated_count, translate_words(m, bytes, size, first));
}

/* Programs copy from anywhere to anywhere: in results addresses may lie at any byte. */
uint64_t cuda_match_moved(const struct cuda_memory *m, const uint8_t *recorded,
                          const uint8_t *actual, uint64_t size, bool has_more)
{
    uint64_t at = 0;

    while (at + (has_more ? 7 : 0) < size) {
        const uint64_t word = at + 8 <= size ? word_at(recorded + at) : 0;
        const uint64_t moved = word ? cuda_memory_translate_word(m, word) : 0;

        if (moved != word && word_at(actual + at) == moved)
            at += 8;
        else if (recorded[at] == actual[at])
            at++;
        else
            break;
    }
    return at;
}

/* Tests whether the driver has memory there that the trace allocates nowhere. */
static bool is_unknown_memory(const struct cuda_replay *replay, uint64_t address)
{
    const struct cuda_memory *m = &replay->memory;
    CUmemorytype type;

    for (size_t i = 0; i < m->region_count; i++)
        if (address - m->regions[i].actual <= m->regions[i].size)
            return false;
    for (size_t i = 0; i < m->moved_count; i++)
        if (address - m->moved[i].actual <= m->moved[i].size)
            return false;
    return replay->library.calls.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                       address) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE;
}

void cuda_doubt_variable(struct cuda_replay *replay, const uint8_t *actual, uint64_t size,
                         uint64_t difference)
{
    struct cuda_memory *m = &replay->memory;
    uint64_t at = difference < 7 ? 0 : difference - 7;

    for (; at <= difference && at + 8 <= size; at++)
        if (is_unknown_memory(replay, word_at(actual + at))) {
            m->moved_ever++;
            count(&m->doubtful_count, 1);
            return;
        }
}
