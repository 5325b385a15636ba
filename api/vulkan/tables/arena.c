/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/codec.h"

#include <stdlib.h>

#define BLOCK_SIZE (64u << 10)

struct vk_arena_block {
    struct vk_arena_block *next;
    uint64_t size, used;
    _Alignas(16) uint8_t bytes[];
};

void vk_arena_init(struct vk_arena *arena, uint64_t limit)
{
    *arena = (struct vk_arena){.limit = limit};
}

static void free_from(struct vk_arena_block *block)
{
    while (block) {
        struct vk_arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void vk_arena_reset(struct vk_arena *arena)
{
    struct vk_arena_block *keep = arena->blocks;

    arena->used = 0;
    if (!keep)
        return;
    free_from(keep->next);
    keep->next = NULL;
    keep->used = 0;
}

void vk_arena_finish(struct vk_arena *arena)
{
    free_from(arena->blocks);
    arena->blocks = NULL;
}

static struct vk_arena_block *add_block(struct vk_arena *arena, uint64_t size)
{
    struct vk_arena_block *block;

    if (size < BLOCK_SIZE)
        size = BLOCK_SIZE;
    block = malloc(sizeof(*block) + size);
    if (!block)
        return NULL;
    *block = (struct vk_arena_block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    return block;
}

void *vk_arena_take(struct vk_arena *arena, uint64_t size)
{
    struct vk_arena_block *block = arena->blocks;
    void *taken;

    if (size > arena->limit || arena->limit - size < arena->used)
        return NULL;
    size = (size + 15) & ~15ull;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    taken = block->bytes + block->used;
    block->used += size;
    arena->used += size;
    return memset(taken, 0, size);
}
