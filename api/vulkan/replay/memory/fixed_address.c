/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at its recorded address. The address of a buffer may lie in push constants and in memory,
 * where nobody can find it; so memory whose buffers' addresses the program has asked for is put
 * where it was. Only where the device is a processor, for which an address is an address of this
 * process: pages there are taken before the driver is opened, and imported as the memory.
 */
#include "api/vulkan/replay/memory/fixed_address.h"

#include <string.h>
#include <sys/mman.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/replay.h"

#define PAGE 4096u

static int note(struct tsm_map *map, uint64_t id, uint64_t value)
{
    return tsm_map_set(map, id, value) ? 0
                                       : tsm_fail(TSM_E_MEMORY, "no memory for places of memory");
}

/* ---- gathering ----------------------------------------------------------------------------------
 */

static int note_bound(struct vkr *r, uint64_t buffer, uint64_t memory, uint64_t offset)
{
    int error = note(&r->places.memories, buffer, memory);

    return error ? error : note(&r->places.offsets, buffer, offset);
}

static int note_bound2(struct vkr *r, const struct vk_args_vkBindBufferMemory2 *a)
{
    int error = 0;

    for (uint32_t i = 0; i < a->bindInfoCount && !error; i++)
        error = note_bound(r, VKR_RAW(a->pBindInfos[i].buffer), VKR_RAW(a->pBindInfos[i].memory),
                           a->pBindInfos[i].memoryOffset);
    return error;
}

/* The buffer lies at `address`: so its memory begins before that. */
int vkr_fixed_address_get(struct vkr *r, uint64_t buffer, uint64_t address)
{
    const uint64_t *memory = tsm_map_find(&r->places.memories, buffer);
    const uint64_t *offset = tsm_map_find(&r->places.offsets, buffer);
    const uint64_t *size = memory ? tsm_map_find(&r->places.sizes, *memory) : NULL;
    uint64_t start, end;
    int error;

    if (!size || *offset > address || address >> 47 || *size >> 40 ||
        tsm_map_find(&r->places.starts, *memory))
        return 0;
    start = address - *offset;
    end = (start + *size + PAGE - 1) / PAGE * PAGE;
    error = note(&r->places.starts, *memory, start);
    return error ? error : tsm_address_space_add(&r->places.ranges, start / PAGE * PAGE, end);
}

int vkr_fixed_address_plan(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkAllocateMemory *allocate = (const void *)c->args;
    const struct vk_args_vkBindBufferMemory *bind = (const void *)c->args;

    switch (c->record->type) {
    case TYPE_vkAllocateMemory:
        return c->record->slot_count > 2 ? note(&r->places.sizes, c->record->slots[2],
                                                allocate->pAllocateInfo->allocationSize)
                                         : 0;
    case TYPE_vkBindBufferMemory:
        return note_bound(r, VKR_RAW(bind->buffer), VKR_RAW(bind->memory), bind->memoryOffset);
    case TYPE_vkBindBufferMemory2:
    case TYPE_vkBindBufferMemory2KHR:
        return note_bound2(r, (const void *)c->args);
    default:
        return 0;
    }
}

/* ---- taking -------------------------------------------------------------------------------------
 */

void vkr_fixed_address_take(struct vkr *r)
{
    tsm_address_space_keep(&r->places.ranges, PROT_READ | PROT_WRITE);
}

void vkr_fixed_address_give_back(struct vkr *r)
{
    tsm_address_space_release(&r->places.ranges, NULL);
}

void vkr_fixed_addresses_finish(struct vkr *r)
{
    vkr_fixed_address_give_back(r);
    tsm_address_space_finish(&r->places.ranges);
    tsm_map_finish(&r->places.memories);
    tsm_map_finish(&r->places.offsets);
    tsm_map_finish(&r->places.sizes);
    tsm_map_finish(&r->places.starts);
}

bool vkr_fixed_address_wanted(const struct vkr *r, const struct vk_instance_dispatch *instance,
                              VkPhysicalDevice physical)
{
    VkPhysicalDeviceProperties p;

    if (!r->places.ranges.count)
        return false;
    instance->f.vkGetPhysicalDeviceProperties(physical, &p);
    return p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
           vkr_device_has(instance, physical, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
}

void *vkr_fixed_address_of(const struct vkr *r, const struct vkr_device *device, uint64_t memory,
                           uint64_t size)
{
    const uint64_t *start = device->can_place ? tsm_map_find(&r->places.starts, memory) : NULL;
    const struct tsm_address_range *range =
        start ? tsm_address_space_find(&r->places.ranges, *start, size) : NULL;

    return range && range->is_kept ? (void *)(uintptr_t)*start : NULL; /* NOLINT: ours by now */
}
