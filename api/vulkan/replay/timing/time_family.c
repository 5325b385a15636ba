/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/timing/time_family.h"

#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/replay/replay.h"
#include "base/array.h"

#include <stdlib.h>

#define BLOCKS_MAX  2048u /* of all families, as many as the recorder has */
#define RESULTS_MIN 128u  /* of a room */

uint64_t vkr_time_mask(const struct vkr_device *d, uint32_t family)
{
    VkQueueFamilyProperties list[32];
    uint32_t count = 32, bits;

    d->instance->dispatch.f.vkGetPhysicalDeviceQueueFamilyProperties(d->dispatch.physical_device,
                                                                     &count, list);
    /* vkCmdResetQueryPool wants a queue that can compute or draw. */
    if (family >= count ||
        !(list[family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        return 0;
    bits = list[family].timestampValidBits;
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* ---- families ------------------------------------------------------------------------------ */

static bool is_lone(const struct vkr *r, const struct vkr_device *d, uint32_t family)
{
    uint32_t count = 0;

    for (const struct vkr_required_device *n = r->needs.devices; n; n = n->next)
        for (uint32_t i = 0; n->id == d->id && i < n->info->queueCreateInfoCount; i++)
            if (n->info->pQueueCreateInfos[i].queueFamilyIndex == family)
                count += n->info->pQueueCreateInfos[i].queueCount;
    return count == 1;
}

struct vkr_time_family *vkr_time_family_of(struct vkr *r, struct vkr_device *device,
                                           uint32_t family)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = family};
    struct vkr_time_family *f = r->timing.families;

    while (f && (f->device != device || f->family != family))
        f = f->next;
    if (f)
        return f;
    f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->device = device;
    f->family = family;
    f->is_lone = is_lone(r, device, family);
    if (d->f.vkCreateCommandPool(d->device, &info, NULL, &f->commands) < 0) {
        free(f);
        return NULL;
    }
    f->next = r->timing.families;
    r->timing.families = f;
    return f;
}

static void free_room(const struct vk_device_dispatch *d, struct vkr_result_room *room)
{
    if (room->buffer)
        d->f.vkDestroyBuffer(d->device, room->buffer, NULL);
    if (room->memory)
        d->f.vkFreeMemory(d->device, room->memory, NULL);
    free(room);
}

static void free_family(struct vkr *r, struct vkr_time_family *f)
{
    const struct vk_device_dispatch *d = &f->device->dispatch;

    while (f->free_rooms) {
        struct vkr_result_room *room = f->free_rooms;
        f->free_rooms = room->next;
        free_room(d, room);
    }
    while (f->free_blocks) {
        struct vkr_query_block *b = f->free_blocks;
        f->free_blocks = b->next;
        d->f.vkDestroyQueryPool(d->device, b->queries, NULL);
        free(b);
        r->timing.block_count--;
    }
    d->f.vkDestroyCommandPool(d->device, f->commands, NULL); /* and all command buffers */
    free(f->free_buffers);
    free(f);
}

void vkr_time_families_drop(struct vkr *r, const struct vkr_device *device)
{
    struct vkr_time_family **at = &r->timing.families;

    while (*at) {
        struct vkr_time_family *f = *at;

        if (f->device != device) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        free_family(r, f);
    }
}

/* ---- what they lend ------------------------------------------------------------------------ */

struct vkr_query_block *vkr_query_block_take(struct vkr *r, struct vkr_time_family *f)
{
    const struct vk_device_dispatch *d = &f->device->dispatch;
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = 2 * VKR_BLOCK_COMMANDS};
    struct vkr_query_block *b = f->free_blocks;

    if (b) {
        f->free_blocks = b->next;
        b->next = NULL;
        b->count = 0;
        return b;
    }
    b = r->timing.block_count < BLOCKS_MAX ? calloc(1, sizeof(*b)) : NULL;
    if (!b)
        return NULL;
    if (d->f.vkCreateQueryPool(d->device, &info, NULL, &b->queries) < 0) {
        free(b);
        return NULL;
    }
    r->timing.block_count++;
    return b;
}

void vkr_query_blocks_give(struct vkr_time_family *f, struct vkr_query_block *first)
{
    while (first) {
        struct vkr_query_block *next = first->next;
        first->next = f->free_blocks;
        f->free_blocks = first;
        first = next;
    }
}

VkCommandBuffer vkr_own_buffer_take(struct vkr_time_family *f)
{
    const struct vk_device_dispatch *d = &f->device->dispatch;
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = f->commands,
                                              .commandBufferCount = 1};
    VkCommandBuffer commands = NULL;

    if (f->free_buffer_count)
        return f->free_buffers[--f->free_buffer_count];
    return d->f.vkAllocateCommandBuffers(d->device, &info, &commands) < 0 ? NULL : commands;
}

void vkr_own_buffer_give(struct vkr_time_family *f, VkCommandBuffer commands)
{
    if (commands) /* out of memory: it stays in the pool */
        (void)!TSM_ARRAY_PUSH(f->free_buffers, f->free_buffer_count, f->free_buffer_capacity,
                              commands);
}

static bool fill_room(struct vkr_time_family *f, struct vkr_result_room *room)
{
    const struct vk_device_dispatch *d = &f->device->dispatch;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = room->capacity * sizeof(*room->results),
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    uint8_t *mapped = NULL;

    room->copy = vkr_own_buffer_take(f);
    if (!room->copy || d->f.vkCreateBuffer(d->device, &info, NULL, &room->buffer) < 0 ||
        vkr_host_memory(f->device, room->buffer, &room->memory, &mapped) < 0)
        return false;
    room->results = (void *)mapped;
    return true;
}

struct vkr_result_room *vkr_result_room_take(struct vkr_time_family *f, uint32_t count)
{
    struct vkr_result_room **at = &f->free_rooms, *room;
    uint32_t capacity = RESULTS_MIN;

    while (*at && (*at)->capacity < count)
        at = &(*at)->next;
    room = *at;
    if (room) {
        *at = room->next;
        return room;
    }
    while (capacity < count)
        capacity *= 2;
    room = calloc(1, sizeof(*room));
    if (!room)
        return NULL;
    room->capacity = capacity;
    if (!fill_room(f, room)) {
        vkr_own_buffer_give(f, room->copy);
        free_room(&f->device->dispatch, room);
        return NULL;
    }
    return room;
}

/* The smallest come first. */
void vkr_result_room_give(struct vkr_time_family *f, struct vkr_result_room *room)
{
    struct vkr_result_room **at = &f->free_rooms;

    if (!room)
        return;
    while (*at && (*at)->capacity < room->capacity)
        at = &(*at)->next;
    room->next = *at;
    *at = room;
}
