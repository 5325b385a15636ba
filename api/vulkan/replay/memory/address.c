/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of buffers. The program asks for them and may put them anywhere; those in arguments are
 * translated here, those in memory cannot be. So buffers are asked again as soon as memory is bound
 * to them, and the result says how many lie elsewhere than they did.
 */
#include "api/vulkan/replay/memory/address.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/memory/fixed_address.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "base/array.h"

static int note(struct tsm_map *map, uint64_t id, uint64_t value)
{
    return tsm_map_set(map, id, value)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for addresses of buffers");
}

/* Handles are their ids here. */
int vkr_address_plan(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkCreateBuffer *made = (const void *)c->args;
    const struct vk_args_vkGetBufferDeviceAddress *asked = (const void *)c->args;
    int error;

    switch (c->record->type) {
    case TYPE_vkCreateBuffer:
        if (!(made->pCreateInfo->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) ||
            c->record->slot_count < 3)
            return 0;
        return note(&r->addresses.sizes, c->record->slots[2], made->pCreateInfo->size);
    case TYPE_vkGetBufferDeviceAddress:
    case TYPE_vkGetBufferDeviceAddressKHR:
    case TYPE_vkGetBufferDeviceAddressEXT:
        error = note(&r->addresses.recorded, VKR_RAW(asked->pInfo->buffer),
                     (uint64_t)c->record->result);
        return error ? error
                     : vkr_fixed_address_get(r, VKR_RAW(asked->pInfo->buffer),
                                             (uint64_t)c->record->result);
    default:
        return 0;
    }
}

static int add_moved(struct vkr_addresses *all, struct vkr_moved moved)
{
    if (!TSM_ARRAY_PUSH(all->moved, all->count, all->capacity, moved))
        return tsm_fail(TSM_E_MEMORY, "no memory for addresses of buffers");
    all->moved_ever += moved.recorded != moved.actual;
    return 0;
}

int vkr_address_bound(struct vkr *r, const struct vkr_object *buffer)
{
    const uint64_t *recorded = tsm_map_find(&r->addresses.recorded, buffer->id);
    const uint64_t *size = tsm_map_find(&r->addresses.sizes, buffer->id);
    const struct vk_device_dispatch *d = buffer->device ? &buffer->device->dispatch : NULL;
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                      .buffer = (VkBuffer)(uintptr_t)buffer->raw};
    PFN_vkGetBufferDeviceAddress get;

    if (!recorded || !size || !d)
        return 0;
    get = d->f.vkGetBufferDeviceAddress      ? d->f.vkGetBufferDeviceAddress
          : d->f.vkGetBufferDeviceAddressKHR ? d->f.vkGetBufferDeviceAddressKHR
                                             : d->f.vkGetBufferDeviceAddressEXT;
    return get ? add_moved(&r->addresses,
                           (struct vkr_moved){*recorded, *size, get(d->device, &info)})
               : 0;
}

/* The last one that was there: addresses are used again. */
uint64_t vkr_address_translate(const struct vkr *r, uint64_t recorded)
{
    for (size_t i = r->addresses.count; i > 0; i--) {
        const struct vkr_moved *m = &r->addresses.moved[i - 1];
        if (recorded >= m->recorded && recorded - m->recorded <= m->size)
            return m->actual + (recorded - m->recorded);
    }
    return recorded;
}

void vkr_addresses_finish(struct vkr *r)
{
    tsm_map_finish(&r->addresses.recorded);
    tsm_map_finish(&r->addresses.sizes);
    free(r->addresses.moved);
    memset(&r->addresses, 0, sizeof(r->addresses));
}
