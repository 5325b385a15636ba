/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <sys/mman.h>

#define CHUNK_SIZE ((size_t)256 << 10)
#define ALIGNMENT  16u

struct tsm_arena_chunk {
    atomic_size_t used; /* can pass `size`: then the chunk is full */
    size_t size;        /* of bytes[] */
    _Alignas(ALIGNMENT) uint8_t bytes[];
};

static struct tsm_arena_chunk *make_chunk(size_t size)
{
    struct tsm_arena_chunk *chunk = mmap(NULL, sizeof(*chunk) + size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (chunk == MAP_FAILED)
        return NULL;
    chunk->size = size;
    return chunk;
}

static void *take_from(struct tsm_arena_chunk *chunk, size_t size)
{
    size_t at = atomic_fetch_add(&chunk->used, size);

    return at <= chunk->size && size <= chunk->size - at ? chunk->bytes + at : NULL;
}

void *tsm_arena_take(struct tsm_arena *arena, size_t size)
{
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > CHUNK_SIZE / 4) {
        struct tsm_arena_chunk *own = make_chunk(size);

        return own ? own->bytes : NULL;
    }
    for (;;) {
        struct tsm_arena_chunk *chunk = atomic_load(&arena->chunk), *fresh;
        void *memory = chunk ? take_from(chunk, size) : NULL;

        if (memory)
            return memory;
        fresh = make_chunk(CHUNK_SIZE - sizeof(*fresh));
        if (!fresh)
            return NULL;
        if (!atomic_compare_exchange_strong(&arena->chunk, &chunk, fresh))
            munmap(fresh, CHUNK_SIZE);
    }
}
