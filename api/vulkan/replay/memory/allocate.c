/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and buffers, created so that they can be had at their recorded addresses.
 */
#include "api/vulkan/replay/memory/allocate.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/capture_replay_address.h"
#include "api/vulkan/replay/memory/fixed_address.h"
#include "api/vulkan/replay/memory/host_write.h"
#include "api/vulkan/replay/memory/import.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/memory/type.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/share.h"
#include "api/vulkan/tables/chain.h"

/* ---- memory ------------------------------------------------------------------------------ */

/* Asks for the address that the memory's buffers need, if it can be had. */
static void place(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m)
{
    void *at = m->imported || m->is_shared
                   ? NULL
                   : vkr_fixed_address_of(c->r, c->owner->device, c->record->slots[2],
                                          info->allocationSize);
    VkImportMemoryHostPointerInfoEXT *import = at ? vkr_call_take(c, sizeof(*import)) : NULL;

    if (!import)
        return;
    *import = (VkImportMemoryHostPointerInfoEXT){
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, info->pNext,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, at};
    info->pNext = import;
    m->imported = at;
}

/* Memory that the host cannot map is to take a buffer of ours (copy.c), so it is made
 * for one buffer or image only where the driver requires that. */
static void choose_dedicated(const struct vkr_device *device, const VkMemoryAllocateInfo *info,
                             struct vkr_memory *m)
{
    VkMemoryDedicatedAllocateInfo *one =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    VkMemoryPropertyFlags flags = device->memory.memoryTypes[info->memoryTypeIndex].propertyFlags;

    m->is_dedicated = one && (one->buffer || one->image);
    if (!m->is_dedicated || (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) ||
        (one->buffer && one->image) || vk_requires_dedicated(&device->dispatch, one))
        return;
    one->buffer = VK_NULL_HANDLE;
    one->image = VK_NULL_HANDLE;
    m->is_dedicated = false;
}

static int allocate(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m)
{
    const struct vk_args_vkAllocateMemory *a = (const void *)c->args;
    struct vkr_device *d = c->owner->device;
    const char *from = vkr_import_foreign(info->pNext);
    VkResult result;
    int error;

    if (from)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "memory that was imported from %s: what others put there is not in the "
                        "trace",
                        from);
    error = vkr_memory_remap_type(d, info);
    if (!error)
        error = vkr_import_host(c, info, m);
    if (error)
        return error;
    choose_dedicated(d, info, m);
    vkr_share_memory(c, info, m);
    if (m->imported || m->is_shared || !vkr_capture_replay_address_memory(c, info))
        place(c, info, m);
    result = d->dispatch.f.vkAllocateMemory(d->dispatch.device, info, NULL, &m->raw);
    if (result < 0 && m->is_shared)
        close(m->shared_fd);
    if (result < 0)
        return tsm_fail(TSM_E_DEVICE, "%llu bytes of memory type %u: %s",
                        (unsigned long long)info->allocationSize, info->memoryTypeIndex,
                        vkr_result_name(result));
    *a->pMemory = m->raw;
    m->device = d;
    m->size = info->allocationSize;
    m->type = info->memoryTypeIndex;
    m->flags = d->memory.memoryTypes[m->type].propertyFlags;
    return 0;
}

static void drop_object(struct vkr *r, struct vkr_object *o)
{
    vkr_memory_drop(r, o->user);
}

int vkr_allocate_memory(struct vkr_call *c)
{
    const struct vk_args_vkAllocateMemory *a = (const void *)c->args;
    uint64_t id = c->record->slot_count > 2 ? c->record->slots[2] : 0;
    VkMemoryAllocateInfo info = *a->pAllocateInfo;
    struct vkr_memory *m;
    struct vkr_object *o;
    int error;

    if (!c->owner || !c->owner->device || !id || id > VKR_PLACE_ID_MAX ||
        info.allocationSize > VKR_PLACE_OFFSET ||
        vkr_object_find(c->r, VK_OBJECT_VkDeviceMemory, id))
        return tsm_fail(TSM_E_FORMAT, "makes no new memory");
    m = calloc(1, sizeof(*m));
    if (!m)
        return tsm_fail(TSM_E_MEMORY, "no memory for an allocation");
    error = allocate(c, &info, m);
    if (error) {
        free(m);
        return error;
    }
    m->place = VKR_PLACE | id << VKR_PLACE_ID_SHIFT;
    m->made_seq = c->record->seq;
    error = vkr_memory_keep(c->r, m, !m->is_shared);
    if (!error)
        error = vkr_call_created(c);
    o = error ? NULL : vkr_object_find(c->r, VK_OBJECT_VkDeviceMemory, id);
    if (o) {
        o->user = m;
        o->drop = drop_object;
    }
    if (!error && m->imported_address)
        error = vkr_mapping_add(&c->r->memories,
                                (struct vkr_mapping){m->imported_address, m->size, 0, m->place});
    return error;
}

int vkr_free_memory(struct vkr_call *c)
{
    vkr_call_destroyed(c); /* gives it back, too */
    return 0;
}

/* ---- buffers ----------------------------------------------------------------------------- */

/* Its memory will be imported: the specification wants to know that beforehand (12.7). */
int vkr_create_buffer(struct vkr_call *c)
{
    const struct vk_args_vkCreateBuffer *a = (const void *)c->args;
    VkBufferCreateInfo *info = (VkBufferCreateInfo *)(uintptr_t)a->pCreateInfo;
    const uint64_t *memory = c->record->slot_count > 2
                                 ? tsm_map_find(&c->r->places.memories, c->record->slots[2])
                                 : NULL;
    VkExternalMemoryBufferCreateInfo *external =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    int error = vkr_capture_replay_address_buffer(c, info);

    if (error)
        return error;
    if (!memory || !c->owner || !c->owner->device ||
        !vkr_fixed_address_of(c->r, c->owner->device, *memory, 0))
        return vkr_call_driver(c);
    if (!external) {
        external = vkr_call_take(c, sizeof(*external));
        if (!external)
            return tsm_fail(TSM_E_MEMORY, "no memory for a buffer");
        external->sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
        external->pNext = info->pNext;
        info->pNext = external;
    }
    external->handleTypes |= VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    return vkr_call_driver(c);
}
