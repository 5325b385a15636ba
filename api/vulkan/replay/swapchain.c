/* SPDX-License-Identifier: Apache-2.0
 *
 * Surfaces and swapchains, which no driver has seen: images of the replay stand for a swapchain's.
 * Their texels can be read and compared like other memory, at VKR_PLACE_WINDOW.
 */
#include "api/vulkan/replay/swapchain.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/image.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/memory/type.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/tracker.h"
#include "replay/region.h"

#define IMAGE_MAX 64u

struct swapchain {
    VkImageCreateInfo info;
    uint64_t surface; /* id */
    uint32_t families[16];
    uint32_t image_count;
    struct {
        VkImage raw;
        struct vkr_memory *memory;
        uint64_t id;
    } images[IMAGE_MAX];
};

/* No driver has seen it; no driver will. */
static struct vkr_object *add_window(struct vkr_call *c, uint32_t type)
{
    uint32_t last = c->record->slot_count;
    uint64_t id = last ? c->record->slots[last - 1] : 0;
    struct vkr_object *o;

    if (!id || vkr_object_find(c->r, type, id))
        return NULL;
    o = vkr_object_add(c->r, type, id, ++c->r->next_window);
    if (!o)
        return NULL;
    o->is_window = true;
    o->instance = c->owner ? c->owner->instance : NULL;
    o->device = c->owner ? c->owner->device : NULL;
    return o;
}

int vkr_create_surface(struct vkr_call *c)
{
    return add_window(c, VK_OBJECT_VkSurfaceKHR) ? 0 : tsm_fail(TSM_E_FORMAT, "makes no surface");
}

int vkr_destroy_surface(struct vkr_call *c)
{
    vkr_call_destroyed(c);
    return 0;
}

/* ---- swapchains -------------------------------------------------------------------------- */

static void fill_info(struct swapchain *s, const VkSwapchainCreateInfoKHR *from)
{
    uint32_t families = from->pQueueFamilyIndices ? from->queueFamilyIndexCount : 0;

    if (families > sizeof(s->families) / sizeof(s->families[0]))
        families = 0;
    for (uint32_t i = 0; i < families; i++)
        s->families[i] = from->pQueueFamilyIndices[i];
    s->info = (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = from->imageFormat,
        .extent = {from->imageExtent.width, from->imageExtent.height, 1},
        .mipLevels = 1,
        .arrayLayers = from->imageArrayLayers ? from->imageArrayLayers : 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = from->imageUsage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
        .sharingMode = families ? from->imageSharingMode : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = families,
        .pQueueFamilyIndices = s->families,
    };
    if (from->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR)
        s->info.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
}

/* A swapchain object goes, and its images with it. */
static void drop_swapchain(struct vkr *r, struct vkr_object *o)
{
    struct swapchain *s = o->user;
    const struct vk_device_dispatch *d = o->device ? &o->device->dispatch : NULL;

    for (uint32_t i = 0; s && d && i < s->image_count; i++) {
        struct vkr_object *image = vkr_object_find(r, VK_OBJECT_VkImage, s->images[i].id);
        if (image)
            vkr_object_remove(r, image);
        d->f.vkDestroyImage(d->device, s->images[i].raw, NULL);
        vkr_memory_drop(r, s->images[i].memory);
    }
    free(s);
    o->user = NULL;
}

int vkr_create_swapchain(struct vkr_call *c)
{
    const struct vk_args_vkCreateSwapchainKHR *a = (const void *)c->args;
    struct vkr_object *o =
        c->owner && c->owner->device ? add_window(c, VK_OBJECT_VkSwapchainKHR) : NULL;
    struct swapchain *s = o ? calloc(1, sizeof(*s)) : NULL;
    const struct vkr_object *surface;

    if (!s)
        return tsm_fail(TSM_E_FORMAT, "makes no swapchain");
    fill_info(s, a->pCreateInfo);
    surface = vkr_object_of(c->r, VK_OBJECT_VkSurfaceKHR, VKR_RAW(a->pCreateInfo->surface));
    s->surface = surface ? surface->id : 0;
    o->user = s;
    o->drop = drop_swapchain;
    return 0;
}

int vkr_destroy_swapchain(struct vkr_call *c)
{
    vkr_call_destroyed(c);
    return 0;
}

/* ---- images ------------------------------------------------------------------------------ */

static VkResult make_image(struct vkr_device *device, const VkImageCreateInfo *info, VkImage *image,
                           struct vkr_memory *m)
{
    const struct vk_device_dispatch *d = &device->dispatch;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkResult result = d->f.vkCreateImage(d->device, info, NULL, image);
    int type;

    if (result < 0)
        return result;
    d->f.vkGetImageMemoryRequirements(d->device, *image, &needs);
    type =
        vkr_memory_type(&device->memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, needs.memoryTypeBits);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = type < 0 ? 0 : (uint32_t)type;
    result = d->f.vkAllocateMemory(d->device, &allocate, NULL, &m->raw);
    if (result >= 0)
        result = d->f.vkBindImageMemory(d->device, *image, m->raw, 0);
    if (result < 0) {
        d->f.vkDestroyImage(d->device, *image, NULL);
        d->f.vkFreeMemory(d->device, m->raw, NULL);
    }
    m->device = device;
    m->size = needs.size;
    m->type = allocate.memoryTypeIndex;
    m->flags = device->memory.memoryTypes[m->type].propertyFlags;
    return result;
}

static int add_image(struct vkr_call *c, const struct vkr_object *chain, uint64_t id)
{
    struct swapchain *s = chain->user;
    struct vkr_memory *m = calloc(1, sizeof(*m));
    struct vkr_object *o;
    VkImage image;
    VkResult result;
    int error;

    if (!m)
        return tsm_fail(TSM_E_MEMORY, "no memory for an image");
    result = make_image(chain->device, &s->info, &image, m);
    if (result < 0) {
        free(m);
        return vkr_fail("making an image in place of a swapchain's", result);
    }
    m->place = VKR_PLACE | VKR_PLACE_WINDOW | id << VKR_PLACE_ID_SHIFT;
    m->made_seq = c->record->seq;
    error = vkr_memory_keep(c->r, m, true);
    o = error ? NULL : vkr_object_add(c->r, VK_OBJECT_VkImage, id, VKR_RAW(image));
    if (error || !o)
        return error ? error : tsm_fail(TSM_E_MEMORY, "no memory for an image");
    o->instance = chain->instance;
    o->device = chain->device;
    o->is_swapchain_image = true;
    error = vkr_state_tracker_image(o, &s->info);
    s->images[s->image_count].raw = image;
    s->images[s->image_count].id = id;
    s->images[s->image_count++].memory = m;
    return error;
}

/* Programs may ask more than once, and for the first few only. */
int vkr_get_swapchain_images(struct vkr_call *c)
{
    uint64_t id = c->record->slot_count > 3 ? c->record->slots[1] : 0;
    const struct vkr_object *chain = vkr_object_find(c->r, VK_OBJECT_VkSwapchainKHR, id);
    const uint8_t *data;
    struct tsm_view in;
    uint64_t count;
    size_t size;
    int error = 0;

    if (!chain || c->source.value(c, 3, &data, &size) <= 0)
        return 0; /* only their number was asked for */
    in = tsm_view_init(data, size);
    count = tsm_view_varint(&in);
    if (in.failed || count > IMAGE_MAX + 1)
        return tsm_fail(TSM_E_FORMAT, "no swapchain has so many images");
    for (uint64_t i = 1; i < count && !error; i++) {
        uint64_t image = tsm_view_varint(&in);
        if (in.failed || !image || image > VKR_PLACE_ID_MAX)
            return tsm_fail(TSM_E_FORMAT, "its images are malformed");
        if (vkr_object_find(c->r, VK_OBJECT_VkImage, image))
            continue;
        error = ((struct swapchain *)chain->user)->image_count < IMAGE_MAX
                    ? add_image(c, chain, image)
                    : tsm_fail(TSM_E_FORMAT, "no swapchain has so many images");
    }
    return error;
}

uint64_t vkr_swapchain_surface(const struct vkr_object *swapchain)
{
    return ((const struct swapchain *)swapchain->user)->surface;
}

bool vkr_swapchain_image(const struct vkr_object *swapchain, uint32_t index, struct vkr_image *out)
{
    const struct swapchain *s = swapchain->user;

    if (!s || index >= s->image_count)
        return false;
    *out = (struct vkr_image){s->images[index].raw, s->info.format, s->info.extent,
                              VK_IMAGE_LAYOUT_PRESENT_SRC_KHR};
    return true;
}

static const struct vkr_object *chain_of(const struct vkr *r, uint64_t image, uint32_t *index)
{
    for (const struct vkr_object *o = r->objects.first; o; o = o->next) {
        const struct swapchain *s = o->type == VK_OBJECT_VkSwapchainKHR ? o->user : NULL;
        for (uint32_t i = 0; s && i < s->image_count; i++)
            if (s->images[i].id == image) {
                *index = i;
                return o;
            }
    }
    return NULL;
}

int vkr_swapchain_read(struct vkr *r, uint64_t address, void *out, uint64_t size)
{
    uint64_t id = address >> VKR_PLACE_ID_SHIFT & VKR_PLACE_ID_MAX;
    uint64_t offset = address & VKR_PLACE_OFFSET & ~VKR_PLACE_TEXELS;
    struct vkr_texels *texels = &r->texels;
    const struct vkr_object *chain;
    struct vkr_image image;
    uint32_t index;
    int error;

    if (offset == 0 || id != texels->image) {
        free(texels->bytes);
        *texels = (struct vkr_texels){0};
        chain = chain_of(r, id, &index);
        if (!chain || !vkr_swapchain_image(chain, index, &image))
            return TSM_E_NOT_FOUND;
        error = vkr_image_read(chain->device, &image, 0, 0, VK_IMAGE_ASPECT_COLOR_BIT,
                               &texels->bytes, &texels->size);
        if (error) {
            texels->bytes = NULL;
            return error;
        }
        texels->image = id;
    }
    if (!tsm_range_holds(0, texels->size, offset, size))
        return tsm_fail(TSM_E_FORMAT, "image #%llu of a swapchain has %llu bytes",
                        (unsigned long long)id, (unsigned long long)texels->size);
    memcpy(out, texels->bytes + offset, size);
    return 0;
}
