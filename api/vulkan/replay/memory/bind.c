/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory bound to buffers and images. Another driver may want more of it, or elsewhere: that is
 * refused here, for drivers do not check. What was bound where gives differences their names.
 */
#include "api/vulkan/replay/memory/bind.h"

#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/memory/address.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/chain.h"
#include "base/text.h"

struct binding {
    struct vkr_call *c;
    struct vkr_object *object;
    VkMemoryRequirements needs; /* of size 0: not known */
    VkDeviceMemory memory;
    uint64_t offset;
};

static int refuse(const struct binding *b, const char *why, uint64_t number)
{
    return tsm_fail(TSM_E_UNSUPPORTED, "%s #%llu, bound to its memory at 0x%llx, %s %llu here",
                    vk_name(vk_objects[b->object->type]), (unsigned long long)b->object->id,
                    (unsigned long long)b->offset, why, (unsigned long long)number);
}

/* Vulkan specification, 12.7 "Resource Memory Association". */
static int check(const struct binding *b)
{
    const struct vkr_object *o =
        vkr_object_of(b->c->r, VK_OBJECT_VkDeviceMemory, VKR_RAW(b->memory));
    const struct vkr_memory *m = o ? o->user : NULL;

    if (!m || !b->object)
        return tsm_fail(TSM_E_FORMAT, "binds what is not there");
    if (b->offset > m->size)
        return refuse(b, "lies behind its end,", m->size);
    if (!b->needs.size)
        return 0;
    if (b->offset % b->needs.alignment && !b->object->device->is_recorded)
        return refuse(b, "must be aligned to", b->needs.alignment);
    if (b->needs.size > m->size - b->offset)
        return refuse(b, "needs so many bytes:", b->needs.size);
    if (!(b->needs.memoryTypeBits >> m->type & 1))
        return refuse(b, "cannot be in memory of type", m->type);
    return 0;
}

static void note(const struct binding *b)
{
    const struct vkr_object *memory =
        vkr_object_of(b->c->r, VK_OBJECT_VkDeviceMemory, VKR_RAW(b->memory));

    b->object->memory = ((const struct vkr_memory *)memory->user)->place;
    b->object->memory_offset = b->offset;
    b->object->memory_size = b->needs.size;
}

static int begin_buffer(struct vkr_call *c, struct binding *out, VkBuffer buffer,
                        VkDeviceMemory memory, uint64_t offset)
{
    const struct vk_device_dispatch *d =
        c->owner && c->owner->device ? &c->owner->device->dispatch : NULL;

    *out = (struct binding){.c = c, .memory = memory, .offset = offset};
    out->object = vkr_object_of(c->r, VK_OBJECT_VkBuffer, VKR_RAW(buffer));
    if (d && out->object)
        d->f.vkGetBufferMemoryRequirements(d->device, buffer, &out->needs);
    return check(out);
}

static void note_image(struct vkr *r, VkDeviceMemory memory)
{
    const struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkDeviceMemory, VKR_RAW(memory));
    struct vkr_memory *m = o ? o->user : NULL;

    if (m)
        m->has_image = true;
}

/* `chain`: of a plane, or of something else that the simple question does not know. */
static int begin_image(struct vkr_call *c, struct binding *out, VkImage image,
                       VkDeviceMemory memory, uint64_t offset, const void *chain)
{
    const struct vk_device_dispatch *d =
        c->owner && c->owner->device ? &c->owner->device->dispatch : NULL;

    *out = (struct binding){.c = c, .memory = memory, .offset = offset};
    out->object = vkr_object_of(c->r, VK_OBJECT_VkImage, VKR_RAW(image));
    if (d && out->object && !chain)
        d->f.vkGetImageMemoryRequirements(d->device, image, &out->needs);
    note_image(c->r, memory);
    return check(out);
}

int vkr_bind_buffer(struct vkr_call *c)
{
    const struct vk_args_vkBindBufferMemory *a = (const void *)c->args;
    struct binding b;
    int error = begin_buffer(c, &b, a->buffer, a->memory, a->memoryOffset);

    if (!error)
        error = vkr_call_driver(c);
    if (error)
        return error;
    note(&b);
    return vkr_address_bound(c->r, b.object);
}

int vkr_bind_buffer2(struct vkr_call *c)
{
    const struct vk_args_vkBindBufferMemory2 *a = (const void *)c->args;
    struct binding b;
    int error = 0;

    for (uint32_t i = 0; i < a->bindInfoCount && !error; i++) {
        const VkBindBufferMemoryInfo *info = &a->pBindInfos[i];
        error = begin_buffer(c, &b, info->buffer, info->memory, info->memoryOffset);
        if (!error)
            note(&b);
    }
    if (!error)
        error = vkr_call_driver(c);
    for (uint32_t i = 0; i < a->bindInfoCount && !error; i++)
        error = vkr_address_bound(
            c->r, vkr_object_of(c->r, VK_OBJECT_VkBuffer, VKR_RAW(a->pBindInfos[i].buffer)));
    return error;
}

int vkr_bind_image(struct vkr_call *c)
{
    const struct vk_args_vkBindImageMemory *a = (const void *)c->args;
    struct binding b;
    int error = begin_image(c, &b, a->image, a->memory, a->memoryOffset, NULL);

    if (!error)
        note(&b);
    return error ? error : vkr_call_driver(c);
}

int vkr_bind_image2(struct vkr_call *c)
{
    const struct vk_args_vkBindImageMemory2 *a = (const void *)c->args;
    struct binding b;
    int error = 0;

    for (uint32_t i = 0; i < a->bindInfoCount && !error; i++) {
        const VkBindImageMemoryInfo *info = &a->pBindInfos[i];
        if (vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR))
            return tsm_fail(TSM_E_UNSUPPORTED, "binds an image to a window's memory, which replay "
                                               "does not have");
        error = begin_image(c, &b, info->image, info->memory, info->memoryOffset, info->pNext);
        if (!error)
            note(&b);
    }
    return error ? error : vkr_call_driver(c);
}

/* ---- names ------------------------------------------------------------------------------- */

static const struct vkr_object *find_bound(const struct vkr *r, uint64_t place, uint64_t offset)
{
    for (const struct vkr_object *o = r->objects.last; o; o = o->previous)
        if (o->memory == place && offset >= o->memory_offset &&
            offset - o->memory_offset < o->memory_size)
            return o;
    return NULL;
}

void vkr_describe_address(const struct vkr *r, uint64_t address, char *out, size_t size)
{
    bool is_texels = (address & VKR_PLACE_WINDOW) && (address & VKR_PLACE_TEXELS);
    uint64_t place = address & ~VKR_PLACE_OFFSET;
    uint64_t offset = address & VKR_PLACE_OFFSET & ~(is_texels ? VKR_PLACE_TEXELS : 0);
    const struct vkr_object *o = find_bound(r, place, offset);
    size_t used =
        tsm_format(out, size, "%s #%llu + 0x%llx",
                   address & VKR_PLACE_WINDOW ? "VkImage of a swapchain" : "VkDeviceMemory",
                   (unsigned long long)(address >> VKR_PLACE_ID_SHIFT & VKR_PLACE_ID_MAX),
                   (unsigned long long)offset);

    if (o)
        tsm_format(out + used, size - used, " (%s #%llu%s%s%s + 0x%llx)",
                   vk_name(vk_objects[o->type]), (unsigned long long)o->id, o->label ? " \"" : "",
                   o->label ? o->label : "", o->label ? "\"" : "",
                   (unsigned long long)(offset - o->memory_offset));
}
