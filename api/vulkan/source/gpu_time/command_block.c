/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/source/gpu_time/command_block.h"

#include "base/arena.h"
#include "capture/capture.h"

#include <string.h>

#define PER_GROUP 32u
#define GROUP_MAX 64u /* of all devices: 131,072 commands; more are not timed */

/* The blocks of a family of queues. */
struct vk_block_group {
    struct vk_query_room room;
    struct vk_command_block *free;
    struct vk_command_block blocks[PER_GROUP];
};

static struct tsm_arena arena;
static struct vk_block_group *groups[GROUP_MAX];
static uint32_t group_count;

void vk_blocks_forget(void)
{
    group_count = 0;
}

static bool fill_group(struct vk_block_group *g, struct vk_device_state *device, uint32_t family)
{
    VkCommandBuffer list[2 * PER_GROUP];

    if (!vk_query_room_make(&g->room, device, family, 2 * VK_BLOCK_COMMANDS * PER_GROUP, list,
                            2 * PER_GROUP))
        return false;
    g->free = NULL;
    for (uint32_t i = PER_GROUP; i-- > 0;) {
        struct vk_command_block *b = &g->blocks[i];
        b->room = &g->room;
        b->group = g;
        b->next = g->free;
        b->reset = list[2 * i];
        b->copy = list[2 * i + 1];
        b->query = 2 * VK_BLOCK_COMMANDS * i;
        g->free = b;
    }
    return true;
}

/* One with a free block; a new one where there is none. NULL: not timed. */
static struct vk_block_group *find_group(struct vk_device_state *device, uint32_t family)
{
    struct vk_block_group *empty = NULL;

    for (uint32_t i = 0; i < group_count; i++) {
        if (groups[i]->room.device == device && groups[i]->room.family == family && groups[i]->free)
            return groups[i];
        if (!groups[i]->room.device)
            empty = groups[i];
    }
    if (!empty && group_count < GROUP_MAX) {
        empty = tsm_session_keep(&arena, sizeof(*empty));
        if (empty)
            groups[group_count++] = empty;
    }
    if (!empty || fill_group(empty, device, family))
        return empty;
    vk_query_room_free(&empty->room);
    empty->free = NULL;
    return NULL;
}

struct vk_command_block *vk_block_take(struct vk_device_state *device, uint32_t family)
{
    struct vk_block_group *g = find_group(device, family);
    struct vk_command_block *b = g ? g->free : NULL;

    if (!b)
        return NULL;
    g->free = b->next;
    b->next = NULL;
    b->count = 0;
    return b;
}

void vk_blocks_give(struct vk_command_block *first)
{
    struct vk_command_block *next;

    for (; first; first = next) {
        next = first->next;
        first->next = first->group->free;
        first->group->free = first;
    }
}

bool vk_blocks_close(struct vk_command_block *first)
{
    const struct vk_device_functions *f = &first->room->device->below;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

    if (f->vkBeginCommandBuffer(first->reset, &info) < 0 ||
        f->vkBeginCommandBuffer(first->copy, &info) < 0)
        return false;
    for (const struct vk_command_block *b = first; b; b = b->next) {
        if (!b->count)
            continue;
        f->vkCmdResetQueryPool(first->reset, b->room->queries, b->query, 2 * b->count);
        vk_query_room_copy(b->room, first->copy, b->query, 2 * b->count);
    }
    return f->vkEndCommandBuffer(first->reset) >= 0 && f->vkEndCommandBuffer(first->copy) >= 0;
}

void vk_blocks_device_destroyed(const struct vk_device_state *device)
{
    for (uint32_t i = 0; i < group_count; i++)
        if (groups[i]->room.device == device) {
            vk_query_room_free(&groups[i]->room);
            groups[i]->free = NULL;
        }
}
