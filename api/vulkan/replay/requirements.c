/* SPDX-License-Identifier: Apache-2.0
 *
 * Gathers the trace's requirements before anything runs, and compares them with the devices here: a
 * replay that cannot work is refused at once, with a list.
 */
#include "api/vulkan/replay/requirements.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/extensions.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/address.h"
#include "api/vulkan/replay/memory/capture_replay_address.h"
#include "api/vulkan/replay/memory/fixed_address.h"
#include "api/vulkan/replay/memory/import.h"
#include "api/vulkan/replay/recorded_device.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/share.h"
#include "api/vulkan/tables/chain.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

/* ---- gathering --------------------------------------------------------------------------- */

static int note_device(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkCreateDevice *a = (const void *)c->args;
    struct vkr_required_device *d;

    if (c->record->slot_count < 3)
        return tsm_fail(TSM_E_FORMAT, "makes no device");
    d = vk_arena_take(&r->needs.arena, sizeof(*d));
    if (!d)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the trace needs");
    d->id = c->record->slots[2];
    d->physical = c->record->slots[0];
    d->info = a->pCreateInfo;
    d->next = r->needs.devices;
    r->needs.devices = d;
    return 0;
}

/* Every kind of image once; those with a chain are left to the driver's answer. */
static int note_image(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkCreateImage *a = (const void *)c->args;
    VkImageCreateInfo info = *a->pCreateInfo;
    struct vkr_required_image *image;
    struct sbt_key key;
    uint64_t hash;
    bool added;

    if (info.pNext)
        return 0;
    info.pQueueFamilyIndices = NULL;
    info.queueFamilyIndexCount = 0;
    key = tsm_hash_key(&info, sizeof(info));
    memcpy(&hash, &key, sizeof(hash));
    if (!tsm_map_insert(&r->needs.seen, hash ^ c->record->slots[0], &added) || !added)
        return 0;
    image = vk_arena_take(&r->needs.arena, sizeof(*image));
    if (!image)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the trace needs");
    image->device = c->record->slots[0];
    image->info = info;
    image->seq = c->record->seq;
    image->next = r->needs.images;
    r->needs.images = image;
    return 0;
}

static void note_layout(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkCreatePipelineLayout *a = (const void *)c->args;
    const VkPipelineLayoutCreateInfo *info = a->pCreateInfo;

    if (info->setLayoutCount > r->needs.set_max)
        r->needs.set_max = info->setLayoutCount;
    for (uint32_t i = 0; info->pPushConstantRanges && i < info->pushConstantRangeCount; i++) {
        const VkPushConstantRange *range = &info->pPushConstantRanges[i];
        if (range->offset + range->size > r->needs.push_max)
            r->needs.push_max = range->offset + range->size;
    }
}

/* Each format once. */
static int note_format(struct vkr *r, struct vkr_call *c, VkFormat format,
                       VkFormatFeatureFlags features)
{
    struct vkr_required_format need = {
        .device = c->record->slots[0], .format = format, .features = features};
    struct sbt_key key = tsm_hash_key(&need, sizeof(need));
    struct vkr_required_format *f;
    uint64_t hash;
    bool added;

    memcpy(&hash, &key, sizeof(hash));
    if (!tsm_map_insert(&r->needs.seen, hash, &added) || !added)
        return 0;
    f = vk_arena_take(&r->needs.arena, sizeof(*f));
    if (!f)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the trace needs");
    *f = need;
    f->next = r->needs.formats;
    r->needs.formats = f;
    return 0;
}

static int note_buffer_view(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkCreateBufferView *a = (const void *)c->args;

    return note_format(r, c, a->pCreateInfo->format,
                       VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT |
                           VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT);
}

static int note_vertices(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkCreateGraphicsPipelines *a = (const void *)c->args;
    int error = 0;

    for (uint32_t i = 0; i < a->createInfoCount; i++) {
        const VkPipelineVertexInputStateCreateInfo *v = a->pCreateInfos[i].pVertexInputState;
        for (uint32_t j = 0; v && j < v->vertexAttributeDescriptionCount && !error; j++)
            error = note_format(r, c, v->pVertexAttributeDescriptions[j].format,
                                VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT);
    }
    return error;
}

/* Notes the limits of each device once. */
static int note_limits(struct vkr *r, struct vkr_call *c, const VkPhysicalDeviceLimits *limits)
{
    struct vkr_required_limits *l = r->needs.limits;

    while (l && l->physical != c->record->slots[0])
        l = l->next;
    if (l)
        return 0;
    l = vk_arena_take(&r->needs.arena, sizeof(*l));
    if (!l)
        return tsm_fail(TSM_E_MEMORY, "no memory for what the trace needs");
    *l = (struct vkr_required_limits){
        r->needs.limits, c->record->slots[0], limits->minUniformBufferOffsetAlignment,
        limits->minStorageBufferOffsetAlignment, limits->minTexelBufferOffsetAlignment};
    r->needs.limits = l;
    return 0;
}

static void note_groups(struct vkr *r, const struct sbt_record *record)
{
    for (uint32_t i = 0; i < 3 && i + 1 < record->slot_count; i++)
        if (record->slots[i + 1] > r->needs.groups[i])
            r->needs.groups[i] = record->slots[i + 1];
}

static int note_call(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkGetPhysicalDeviceProperties *p = (const void *)c->args;
    const struct vk_args_vkGetPhysicalDeviceProperties2 *p2 = (const void *)c->args;
    int error;

    switch (c->record->type) {
    case TYPE_vkCreateDevice:
        return note_device(r, c);
    case TYPE_vkCreateImage:
        return note_image(r, c);
    case TYPE_vkCreatePipelineLayout:
        note_layout(r, c);
        return 0;
    case TYPE_vkCreateBufferView:
        return note_buffer_view(r, c);
    case TYPE_vkCreateGraphicsPipelines:
        return note_vertices(r, c);
    case TYPE_vkGetPhysicalDeviceProperties:
        return note_limits(r, c, &p->pProperties->limits);
    case TYPE_vkGetPhysicalDeviceProperties2:
    case TYPE_vkGetPhysicalDeviceProperties2KHR:
        return note_limits(r, c, &p2->pProperties->properties.limits);
    case TYPE_vkAllocateMemory:
        error = vkr_import_plan(r, c);
        return error ? error : vkr_fixed_address_plan(r, c);
    case TYPE_vkBindBufferMemory:
    case TYPE_vkBindBufferMemory2:
    case TYPE_vkBindBufferMemory2KHR:
        return vkr_fixed_address_plan(r, c);
    case TYPE_vkGetBufferOpaqueCaptureAddress:
    case TYPE_vkGetBufferOpaqueCaptureAddressKHR:
    case TYPE_vkGetDeviceMemoryOpaqueCaptureAddress:
    case TYPE_vkGetDeviceMemoryOpaqueCaptureAddressKHR:
        return vkr_capture_replay_address_plan(r, c);
    case TYPE_vkGetSemaphoreFdKHR:
    case TYPE_vkImportSemaphoreFdKHR:
        return vkr_share_plan(r, c);
    default:
        return vkr_address_plan(r, c);
    }
}

static bool is_opaque(uint32_t type)
{
    return type == TYPE_vkGetBufferOpaqueCaptureAddress ||
           type == TYPE_vkGetBufferOpaqueCaptureAddressKHR ||
           type == TYPE_vkGetDeviceMemoryOpaqueCaptureAddress ||
           type == TYPE_vkGetDeviceMemoryOpaqueCaptureAddressKHR;
}

static bool is_looked_at(uint32_t type)
{
    return type == TYPE_vkCreateDevice || type == TYPE_vkCreateImage ||
           type == TYPE_vkCreatePipelineLayout || type == TYPE_vkAllocateMemory ||
           type == TYPE_vkBindBufferMemory || type == TYPE_vkBindBufferMemory2 ||
           type == TYPE_vkBindBufferMemory2KHR || type == TYPE_vkCreateBuffer ||
           type == TYPE_vkGetBufferDeviceAddress || type == TYPE_vkGetBufferDeviceAddressKHR ||
           type == TYPE_vkGetBufferDeviceAddressEXT || type == TYPE_vkGetSemaphoreFdKHR ||
           type == TYPE_vkImportSemaphoreFdKHR || type == TYPE_vkCreateBufferView ||
           type == TYPE_vkCreateGraphicsPipelines || type == TYPE_vkGetPhysicalDeviceProperties ||
           type == TYPE_vkGetPhysicalDeviceProperties2 ||
           type == TYPE_vkGetPhysicalDeviceProperties2KHR || is_opaque(type);
}

int vkr_requirements_plan(struct vkr *r, const struct sbt_record *record)
{
    bool keeps = record->type == TYPE_vkCreateDevice;
    struct vkr_call c;
    int error;

    if (record->type == TYPE_vkCmdDispatch)
        note_groups(r, record);
    if (!is_looked_at(record->type))
        return 0;
    error = vkr_call_begin(&c, r, record, keeps ? &r->needs.arena : &r->arena, true);
    if (error == 1)
        error = note_call(r, &c);
    else if (error < 0)
        error = tsm_fail(TSM_E_FORMAT, "record %llu, %s: its arguments are malformed",
                         (unsigned long long)record->seq, vk_name(c.command->name));
    vkr_call_finish(&c);
    vk_arena_reset(&r->arena);
    return error;
}

void vkr_requirements_finish(struct vkr *r)
{
    vk_arena_finish(&r->needs.arena);
    tsm_map_finish(&r->needs.seen);
    memset(&r->needs, 0, sizeof(r->needs));
}

/* ---- the list ---------------------------------------------------------------------------- */

struct list {
    char text[300];
    size_t used;
    unsigned count, left_out; /* from the text */
    bool is_told;             /* each in a line of its own */
};

static void miss(struct list *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void miss(struct list *l, const char *format, ...)
{
    va_list ap;
    char text[160];

    va_start(ap, format);
    tsm_vformat(text, sizeof(text), format, ap);
    va_end(ap);
    if (strstr(l->text, text))
        return;
    l->count++;
    if (l->is_told)
        tsm_log(TSM_LOG_WARN, "missing: %s", text);
    l->left_out += l->used + strlen(text) + 20 > sizeof(l->text);
    if (!l->left_out)
        l->used += tsm_format(l->text + l->used, sizeof(l->text) - l->used, "%s%s",
                              l->used ? ", " : "", text);
}

static const char *end_of(struct list *l)
{
    if (l->left_out)
        tsm_format(l->text + l->used, sizeof(l->text) - l->used, ", %u more", l->left_out);
    return l->text;
}

/* ---- features ---------------------------------------------------------------------------- */

static bool is_features(const struct vk_struct *type)
{
    const char *name = vk_name(type->name);

    /* Presenting is not done here. */
    return strncmp(name, "VkPhysicalDevice", 16) == 0 && strstr(name, "Features") &&
           !vkr_is_of_windows(name) && (type->flags & VK_STRUCT_TYPED);
}

static void compare_bools(struct list *l, const struct vk_struct *type, const void *wanted,
                          const void *here)
{
    for (uint32_t i = 0; i < type->member_count; i++) {
        const struct vk_member *m = &vk_members[type->first + i];
        const char *w = (const char *)wanted + m->offset, *h = (const char *)here + m->offset;
        if (m->kind == VK_KIND_BOOL && m->form == VK_FORM_ONE && vk_load(w, 4) && !vk_load(h, 4))
            miss(l, "feature %s", vk_name(m->name));
        if (m->kind == VK_KIND_STRUCT && m->form == VK_FORM_ONE)
            compare_bools(l, &vk_structs[m->type], w, h);
    }
}

/* A chain of the same structs as the recorded one, for the driver to fill. */
static void *same_chain(struct vkr *r, const void *recorded)
{
    void *first = NULL;
    void **next = &first;

    for (const VkBaseInStructure *s = recorded; s; s = s->pNext) {
        const struct vk_struct *type = vk_struct_of((int32_t)s->sType);
        VkBaseOutStructure *own =
            type && is_features(type) ? vk_arena_take(&r->needs.arena, type->size) : NULL;
        if (!own)
            continue;
        own->sType = s->sType;
        *next = own;
        next = (void **)&own->pNext;
    }
    return first;
}

static void check_features(struct vkr *r, struct list *l, const VkDeviceCreateInfo *info,
                           VkPhysicalDevice physical)
{
    const struct vk_instance_functions *f = &r->probe->dispatch.f;
    VkPhysicalDeviceFeatures2 here = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = same_chain(r, info->pNext)};

    if (f->vkGetPhysicalDeviceFeatures2)
        f->vkGetPhysicalDeviceFeatures2(physical, &here);
    else
        f->vkGetPhysicalDeviceFeatures(physical, &here.features);
    if (info->pEnabledFeatures)
        compare_bools(l, vk_struct_named("VkPhysicalDeviceFeatures"), info->pEnabledFeatures,
                      &here.features);
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext) {
        const struct vk_struct *type = vk_struct_of((int32_t)s->sType);
        const void *own = s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
                              ? &here
                              : vk_chain_find(here.pNext, s->sType);
        if (type && own && is_features(type))
            compare_bools(l, type, s, own);
    }
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void check_extensions(struct vkr *r, struct list *l, const VkDeviceCreateInfo *info,
                             VkPhysicalDevice physical)
{
    for (uint32_t i = 0; info->ppEnabledExtensionNames && i < info->enabledExtensionCount; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        if (name && !vkr_is_dispensable(name) &&
            !vkr_device_has(&r->probe->dispatch, physical, name))
            miss(l, "%s", name);
    }
}

static void check_families(struct vkr *r, struct list *l, const VkDeviceCreateInfo *info,
                           VkPhysicalDevice physical)
{
    VkQueueFamilyProperties here[32];
    uint32_t count = 32;

    r->probe->dispatch.f.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, here);
    for (uint32_t i = 0; info->pQueueCreateInfos && i < info->queueCreateInfoCount; i++) {
        const VkDeviceQueueCreateInfo *q = &info->pQueueCreateInfos[i];
        if (q->queueFamilyIndex >= count)
            miss(l, "queue family %u (there are %u)", q->queueFamilyIndex, count);
        else if (q->queueCount > here[q->queueFamilyIndex].queueCount)
            miss(l, "%u queues of family %u (there are %u)", q->queueCount, q->queueFamilyIndex,
                 here[q->queueFamilyIndex].queueCount);
    }
}

static const char *format_name(VkFormat format)
{
    for (uint32_t i = 0; i < vk_enum_count; i++)
        if (strcmp(vk_name(vk_enums[i].name), "VkFormat") == 0)
            for (uint32_t j = 0; j < vk_enums[i].count; j++)
                if (vk_values[vk_enums[i].first + j].value == (int64_t)format)
                    return vk_name(vk_values[vk_enums[i].first + j].name);
    return "an unknown format";
}

/* `odd`: the device says that it cannot, but perhaps it did. */
static void check_images(struct vkr *r, struct list *l, struct list *odd, uint64_t device,
                         VkPhysicalDevice physical)
{
    for (const struct vkr_required_image *n = r->needs.images; n; n = n->next) {
        const VkImageCreateInfo *i = &n->info;
        VkImageFormatProperties here;
        if (n->device != device)
            continue;
        if (r->probe->dispatch.f.vkGetPhysicalDeviceImageFormatProperties(
                physical, i->format, i->imageType, i->tiling, i->usage, i->flags, &here) < 0)
            miss(odd, "images of %s with usage 0x%x", format_name(i->format), (unsigned)i->usage);
        else if (i->extent.width > here.maxExtent.width ||
                 i->extent.height > here.maxExtent.height || i->extent.depth > here.maxExtent.depth)
            miss(l, "images of %ux%ux%u", i->extent.width, i->extent.height, i->extent.depth);
        else if (i->mipLevels > here.maxMipLevels || i->arrayLayers > here.maxArrayLayers)
            miss(l, "images of %u levels and %u layers", i->mipLevels, i->arrayLayers);
        else if (!(i->samples & here.sampleCounts))
            miss(odd, "images of %s with %u samples", format_name(i->format), (unsigned)i->samples);
    }
}

static void check_limits(struct vkr *r, struct list *l, VkPhysicalDevice physical)
{
    VkPhysicalDeviceProperties p;

    r->probe->dispatch.f.vkGetPhysicalDeviceProperties(physical, &p);
    if (r->needs.push_max > p.limits.maxPushConstantsSize)
        miss(l, "%u bytes of push constants (there are %u)", r->needs.push_max,
             p.limits.maxPushConstantsSize);
    if (r->needs.set_max > p.limits.maxBoundDescriptorSets)
        miss(l, "%u descriptor sets (there are %u)", r->needs.set_max,
             p.limits.maxBoundDescriptorSets);
    for (int i = 0; i < 3; i++)
        if (r->needs.groups[i] > p.limits.maxComputeWorkGroupCount[i])
            miss(l, "%llu groups along %c (there are %u)", (unsigned long long)r->needs.groups[i],
                 "xyz"[i], p.limits.maxComputeWorkGroupCount[i]);
}

static void check_formats(struct vkr *r, struct list *l, uint64_t device, VkPhysicalDevice physical)
{
    for (const struct vkr_required_format *n = r->needs.formats; n; n = n->next) {
        VkFormatProperties here = {0};
        if (n->device != device)
            continue;
        r->probe->dispatch.f.vkGetPhysicalDeviceFormatProperties(physical, n->format, &here);
        if (!(here.bufferFeatures & n->features))
            miss(l, "%s in %s", format_name(n->format),
                 n->features == VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT ? "vertices" : "buffer views");
    }
}

static void warn_offset(const char *what, VkDeviceSize recorded, VkDeviceSize here)
{
    if (here > recorded)
        tsm_log(TSM_LOG_WARN,
                "offsets of %s must be multiples of %llu here, where the program was told %llu: it "
                "may have chosen others, which drivers do not check (--validate does)",
                what, (unsigned long long)here, (unsigned long long)recorded);
}

static void warn_limits(const struct vkr *r, uint64_t recorded, const VkPhysicalDeviceLimits *here)
{
    const struct vkr_required_limits *l = r->needs.limits;

    while (l && l->physical != recorded)
        l = l->next;
    if (!l)
        return;
    warn_offset("uniform buffers", l->uniform, here->minUniformBufferOffsetAlignment);
    warn_offset("storage buffers", l->storage, here->minStorageBufferOffsetAlignment);
    warn_offset("buffer views", l->texel, here->minTexelBufferOffsetAlignment);
}

static void check_all(struct vkr *r, const struct vkr_required_device *d, uint32_t place,
                      struct list *l, struct list *odd)
{
    VkPhysicalDevice physical = r->probe->physicals[place];
    VkPhysicalDeviceProperties p;

    r->probe->dispatch.f.vkGetPhysicalDeviceProperties(physical, &p);
    check_extensions(r, l, d->info, physical);
    check_features(r, l, d->info, physical);
    check_families(r, l, d->info, physical);
    check_images(r, l, vkr_is_recorded(r, d->id, &p) ? odd : l, d->id, physical);
    check_formats(r, l, d->id, physical);
    check_limits(r, l, physical);
}

uint32_t vkr_requirements_misses(struct vkr *r, const struct vkr_required_device *d, uint32_t place)
{
    struct list l = {0}, odd = {0};

    check_all(r, d, place, &l, &odd);
    return l.count;
}

int vkr_requirements_check(struct vkr *r)
{
    for (const struct vkr_required_device *d = r->needs.devices; d; d = d->next) {
        struct list l = {0}, odd = {0};
        VkPhysicalDeviceProperties p;

        r->probe->dispatch.f.vkGetPhysicalDeviceProperties(r->probe->physicals[d->place], &p);
        check_all(r, d, d->place, &l, &odd);
        if (odd.count)
            tsm_log(TSM_LOG_WARN, "the program used what %s says it cannot do: %s", p.deviceName,
                    end_of(&odd));
        if (l.left_out)
            check_all(r, d, d->place, &(struct list){.is_told = true}, &(struct list){0});
        if (l.count)
            return tsm_fail(TSM_E_UNSUPPORTED, "%s lacks what the trace needs: %s", p.deviceName,
                            end_of(&l));
        warn_limits(r, d->physical, &p.limits);
    }
    return 0;
}
