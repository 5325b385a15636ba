/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/state/image_access.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/inspect/image.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/tables/texel.h"
#include "base/array.h"

/* The decoder hands the call back, so that it comes first. */
struct noting {
    struct vkr_call call;
    struct vkr_image_access_table *touched;
    struct vkr_scene *scene;
    const struct sbt_record *record;
    struct vkr_image_accesses *to;
    bool has_failed; /* no memory */
};

static void add(struct noting *n, enum vkr_image_access_kind kind, struct vkr_part part)
{
    struct vkr_image_accesses *t = n->to;

    if (!TSM_ARRAY_PUSH(t->list, t->count, t->capacity, (struct vkr_image_access){kind, part}))
        n->has_failed = true;
}

static struct vkr_part all_of(uint64_t image)
{
    return (struct vkr_part){image, ~0u, 0, UINT32_MAX, 0, UINT32_MAX};
}

static struct vkr_part range_of(uint64_t image, const VkImageSubresourceRange *range)
{
    return (struct vkr_part){image,
                             range->aspectMask,
                             range->baseMipLevel,
                             range->levelCount,
                             range->baseArrayLayer,
                             range->layerCount};
}

struct vkr_part vkr_view_part(const struct vkr_scene *scene, uint64_t view)
{
    const VkImageViewCreateInfo *info = vkr_scene_view(scene, view);
    struct vkr_part part =
        info ? range_of(VKR_RAW(info->image), &info->subresourceRange) : all_of(0);

    part.aspects = ~0u; /* of a depth/stencil image a view of one aspect attaches both */
    return part;
}

/* ---- rendering --------------------------------------------------------------------------- */

/* The area of a rendering, and what else says that it covers all of an attachment. */
struct area {
    VkRect2D rect;
    uint32_t layers;
    bool is_odd; /* several views or devices: it may cover only some */
};

static bool covers(const struct noting *n, const struct area *area, const struct vkr_part *part)
{
    VkImageCreateInfo image;
    VkExtent3D extent;
    uint32_t layers = part->layer_count;

    if (area->is_odd || part->level > 31 || !vkr_scene_image(n->scene, part->image, &image))
        return false;
    if (layers == VK_REMAINING_ARRAY_LAYERS)
        layers = image.arrayLayers - part->layer;
    extent = vkr_level_extent(image.extent, part->level);
    return area->rect.offset.x == 0 && area->rect.offset.y == 0 &&
           area->rect.extent.width >= extent.width && area->rect.extent.height >= extent.height &&
           area->layers >= layers;
}

static enum vkr_image_access_kind kind_of(VkAttachmentLoadOp op, bool is_covered, bool is_void)
{
    if (op == VK_ATTACHMENT_LOAD_OP_CLEAR && is_covered)
        return VKR_IMAGE_ACCESS_WRITE;
    if (op == VK_ATTACHMENT_LOAD_OP_LOAD)
        return VKR_IMAGE_ACCESS_USE; /* whoever says so from an undefined layout means it */
    return is_void || (op == VK_ATTACHMENT_LOAD_OP_DONT_CARE && is_covered) ? VKR_IMAGE_ACCESS_VOID
                                                                            : VKR_IMAGE_ACCESS_USE;
}

/* `is_void`: what was there is undefined, whatever the operation. */
static void attach(struct noting *n, const struct area *area, struct vkr_part part,
                   VkImageAspectFlags aspects, VkAttachmentLoadOp op, bool is_void)
{
    part.aspects = aspects;
    if (part.image)
        add(n, kind_of(op, covers(n, area, &part), is_void), part);
}

#define DEPTH   VK_IMAGE_ASPECT_DEPTH_BIT
#define STENCIL VK_IMAGE_ASPECT_STENCIL_BIT

/* Common parts of both versions of a render pass's attachments and subpasses. */
struct described {
    VkAttachmentDescriptionFlags flags;
    VkFormat format;
    VkAttachmentLoadOp load, stencil_load;
    VkImageLayout layout;
};
struct subpass {
    uint32_t color_count, views;
    const void *colors, *resolves, *depth; /* references of that version; NULL: none */
};

static const VkRenderPassCreateInfo *first_version(const struct vkr_scene_object *pass)
{
    return pass->call == TYPE_vkCreateRenderPass
               ? ((const struct vk_args_vkCreateRenderPass *)pass->args)->pCreateInfo
               : NULL;
}

static const VkRenderPassCreateInfo2 *second_version(const struct vkr_scene_object *pass)
{
    return ((const struct vk_args_vkCreateRenderPass2 *)pass->args)->pCreateInfo;
}

static bool describe(const struct vkr_scene_object *pass, uint32_t i, struct described *out)
{
    const VkRenderPassCreateInfo *a = first_version(pass);

    if (a && i < a->attachmentCount) {
        const VkAttachmentDescription *d = &a->pAttachments[i];
        *out =
            (struct described){d->flags, d->format, d->loadOp, d->stencilLoadOp, d->initialLayout};
    } else if (!a && i < second_version(pass)->attachmentCount) {
        const VkAttachmentDescription2 *d = &second_version(pass)->pAttachments[i];
        *out =
            (struct described){d->flags, d->format, d->loadOp, d->stencilLoadOp, d->initialLayout};
    } else {
        return false;
    }
    return true;
}

static bool subpass_of(const struct vkr_scene_object *pass, uint32_t i, struct subpass *out)
{
    const VkRenderPassCreateInfo *a = first_version(pass);

    if (a && i < a->subpassCount) {
        const VkSubpassDescription *s = &a->pSubpasses[i];
        *out = (struct subpass){s->colorAttachmentCount, 0, s->pColorAttachments,
                                s->pResolveAttachments, s->pDepthStencilAttachment};
        out->views =
            vk_chain_find(a->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO) != NULL;
    } else if (!a && i < second_version(pass)->subpassCount) {
        const VkSubpassDescription2 *s = &second_version(pass)->pSubpasses[i];
        *out = (struct subpass){s->colorAttachmentCount, s->viewMask, s->pColorAttachments,
                                s->pResolveAttachments, s->pDepthStencilAttachment};
    } else {
        return false;
    }
    return true;
}

static bool names(const struct vkr_scene_object *pass, const void *list, uint32_t count,
                  uint32_t attachment)
{
    const VkAttachmentReference *a = list;
    const VkAttachmentReference2 *b = list;

    for (uint32_t i = 0; list && i < count; i++)
        if ((first_version(pass) ? a[i].attachment : b[i].attachment) == attachment)
            return true;
    return false;
}

/* Only what a subpass draws to is loaded. */
static bool is_drawn_to(const struct vkr_scene_object *pass, uint32_t attachment)
{
    struct subpass s;

    for (uint32_t i = 0; subpass_of(pass, i, &s); i++)
        if (names(pass, s.colors, s.color_count, attachment) ||
            names(pass, s.resolves, s.color_count, attachment) ||
            names(pass, s.depth, 1, attachment))
            return true;
    return false;
}

static bool has_views(const struct vkr_scene_object *pass)
{
    struct subpass s;

    for (uint32_t i = 0; subpass_of(pass, i, &s); i++)
        if (s.views)
            return true;
    return false;
}

static void begin_attachment(struct noting *n, const struct area *area, const struct described *d,
                             struct vkr_part part)
{
    bool is_void = d->layout == VK_IMAGE_LAYOUT_UNDEFINED;
    VkImageAspectFlags aspects = vk_aspects_of(d->format), stencil = VK_IMAGE_ASPECT_STENCIL_BIT;

    if (aspects & ~stencil)
        attach(n, area, part, aspects & ~stencil, d->load, is_void);
    if (aspects & stencil)
        attach(n, area, part, stencil, d->stencil_load, is_void);
}

static void begin_pass(struct noting *n, const VkRenderPassBeginInfo *info)
{
    const struct vkr_scene_object *pass = VKR_SCENE_FIND(n->scene, VkRenderPass, info->renderPass);
    const struct vkr_scene_object *made =
        VKR_SCENE_FIND(n->scene, VkFramebuffer, info->framebuffer);
    const VkRenderPassAttachmentBeginInfo *given =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    const VkFramebufferCreateInfo *f =
        made ? ((const struct vk_args_vkCreateFramebuffer *)made->args)->pCreateInfo : NULL;
    struct area area = {info->renderArea, f ? f->layers : 0,
                        !pass || has_views(pass) || (info->pNext && !given)};
    const VkImageView *views = given ? given->pAttachments : f ? f->pAttachments : NULL;
    uint32_t count = given ? given->attachmentCount : f ? f->attachmentCount : 0;
    struct described d;

    if (!pass || !f || (count && !views))
        add(n, VKR_IMAGE_ACCESS_ALL, all_of(0));
    for (uint32_t i = 0; pass && views && i < count && describe(pass, i, &d); i++) {
        struct vkr_part part = vkr_view_part(n->scene, VKR_RAW(views[i]));
        if (is_drawn_to(pass, i) && !(d.flags & VK_ATTACHMENT_DESCRIPTION_MAY_ALIAS_BIT))
            begin_attachment(n, &area, &d, part);
        else
            add(n, VKR_IMAGE_ACCESS_USE, part);
    }
}

static void begin_attached(struct noting *n, const struct area *area, bool resumes,
                           VkImageAspectFlags aspects, const VkRenderingAttachmentInfo *info)
{
    if (!info)
        return;
    attach(n, area, vkr_view_part(n->scene, VKR_RAW(info->imageView)), aspects,
           resumes ? VK_ATTACHMENT_LOAD_OP_LOAD : info->loadOp, false);
    if (info->resolveMode)
        attach(n, area, vkr_view_part(n->scene, VKR_RAW(info->resolveImageView)), aspects,
               VK_ATTACHMENT_LOAD_OP_DONT_CARE, false);
}

static void begin_rendering(struct noting *n, const VkRenderingInfo *info)
{
    struct area area = {info->renderArea, info->layerCount, info->viewMask || info->pNext};
    bool resumes = info->flags & VK_RENDERING_RESUMING_BIT;

    for (uint32_t i = 0; i < info->colorAttachmentCount; i++)
        begin_attached(n, &area, resumes, VK_IMAGE_ASPECT_COLOR_BIT, &info->pColorAttachments[i]);
    begin_attached(n, &area, resumes, VK_IMAGE_ASPECT_DEPTH_BIT, info->pDepthAttachment);
    begin_attached(n, &area, resumes, VK_IMAGE_ASPECT_STENCIL_BIT, info->pStencilAttachment);
}

/* ---- clears and copies ------------------------------------------------------------------- */

static void clear(struct noting *n, VkImage image, uint32_t count,
                  const VkImageSubresourceRange *ranges)
{
    for (uint32_t i = 0; i < count; i++)
        add(n, VKR_IMAGE_ACCESS_WRITE, range_of(VKR_RAW(image), &ranges[i]));
}

static void copy_to(struct noting *n, VkImage image, const VkImageSubresourceLayers *layers,
                    VkOffset3D offset, VkExtent3D extent)
{
    struct vkr_part part = {VKR_RAW(image),         layers->aspectMask, layers->mipLevel, 1,
                            layers->baseArrayLayer, layers->layerCount};
    struct area area = {
        {{offset.x, offset.y}, {extent.width, extent.height}}, layers->layerCount, offset.z != 0};

    add(n, covers(n, &area, &part) ? VKR_IMAGE_ACCESS_WRITE : VKR_IMAGE_ACCESS_USE, part);
}

static void copy_buffer(struct noting *n, const struct vk_args_vkCmdCopyBufferToImage *a)
{
    for (uint32_t i = 0; i < a->regionCount; i++)
        copy_to(n, a->dstImage, &a->pRegions[i].imageSubresource, a->pRegions[i].imageOffset,
                a->pRegions[i].imageExtent);
}

static void copy_buffer2(struct noting *n, const VkCopyBufferToImageInfo2 *info)
{
    for (uint32_t i = 0; i < info->regionCount; i++)
        copy_to(n, info->dstImage, &info->pRegions[i].imageSubresource,
                info->pRegions[i].imageOffset, info->pRegions[i].imageExtent);
}

/* ---- barriers ---------------------------------------------------------------------------- */

static void barrier(struct noting *n, VkImage image, const VkImageSubresourceRange *range,
                    VkImageLayout from)
{
    if (from == VK_IMAGE_LAYOUT_UNDEFINED)
        add(n, VKR_IMAGE_ACCESS_VOID, range_of(VKR_RAW(image), range));
}

static void barriers(struct noting *n, uint32_t count, const VkImageMemoryBarrier *list)
{
    for (uint32_t i = 0; i < count; i++)
        barrier(n, list[i].image, &list[i].subresourceRange, list[i].oldLayout);
}

static void dependencies(struct noting *n, uint32_t count, const VkDependencyInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < infos[i].imageMemoryBarrierCount; j++) {
            const VkImageMemoryBarrier2 *b = &infos[i].pImageMemoryBarriers[j];
            barrier(n, b->image, &b->subresourceRange, b->oldLayout);
        }
}

/* ---- commands ---------------------------------------------------------------------------- */

/* Notes the accesses of a command. Returns false if it is none of these. */
static bool note_args(struct noting *n, uint32_t type, const void *args)
{
    const struct vk_args_vkCmdBeginRenderPass *pass = args; /* version 2 begins like it */
    const struct vk_args_vkCmdBeginRendering *rendering = args;
    const struct vk_args_vkCmdClearColorImage *color = args;
    const struct vk_args_vkCmdClearDepthStencilImage *depth = args;
    const struct vk_args_vkCmdCopyBufferToImage2 *copy2 = args;
    const struct vk_args_vkCmdPipelineBarrier *p = args;
    const struct vk_args_vkCmdPipelineBarrier2 *p2 = args;
    const struct vk_args_vkCmdWaitEvents *w = args;
    const struct vk_args_vkCmdWaitEvents2 *w2 = args;

    switch (type) {
    case TYPE_vkCmdBeginRenderPass:
    case TYPE_vkCmdBeginRenderPass2:
    case TYPE_vkCmdBeginRenderPass2KHR:
        begin_pass(n, pass->pRenderPassBegin);
        return true;
    case TYPE_vkCmdBeginRendering:
    case TYPE_vkCmdBeginRenderingKHR:
        begin_rendering(n, rendering->pRenderingInfo);
        return true;
    case TYPE_vkCmdClearColorImage:
        clear(n, color->image, color->rangeCount, color->pRanges);
        return true;
    case TYPE_vkCmdClearDepthStencilImage:
        clear(n, depth->image, depth->rangeCount, depth->pRanges);
        return true;
    case TYPE_vkCmdCopyBufferToImage:
        copy_buffer(n, args);
        return true;
    case TYPE_vkCmdCopyBufferToImage2:
    case TYPE_vkCmdCopyBufferToImage2KHR:
        copy_buffer2(n, copy2->pCopyBufferToImageInfo);
        return true;
    case TYPE_vkCmdPipelineBarrier:
        barriers(n, p->imageMemoryBarrierCount, p->pImageMemoryBarriers);
        return true;
    case TYPE_vkCmdWaitEvents:
        barriers(n, w->imageMemoryBarrierCount, w->pImageMemoryBarriers);
        return true;
    case TYPE_vkCmdPipelineBarrier2:
    case TYPE_vkCmdPipelineBarrier2KHR:
        dependencies(n, 1, p2->pDependencyInfo);
        return true;
    case TYPE_vkCmdWaitEvents2:
    case TYPE_vkCmdWaitEvents2KHR:
        dependencies(n, w2->eventCount, w2->pDependencyInfos);
        return true;
    default:
        return false;
    }
}

/* Descriptors in memory, commands in memory, some devices of several. */
static bool is_opaque(uint32_t type)
{
    return type == TYPE_vkCmdBindDescriptorBuffersEXT ||
           type == TYPE_vkCmdExecuteGeneratedCommandsNV || type == TYPE_vkCmdSetDeviceMask ||
           type == TYPE_vkCmdSetDeviceMaskKHR;
}

/* A handle in the arguments of a command of which nothing is known. */
static bool note_named(void *user, uint32_t type, uint64_t id, uint64_t *raw)
{
    struct noting *n = user;
    const struct vkr_image_accesses *other;

    *raw = id;
    if (type == VK_OBJECT_VkImage && id) {
        add(n, VKR_IMAGE_ACCESS_USE, all_of(id));
    } else if (type == VK_OBJECT_VkImageView && id) {
        add(n, VKR_IMAGE_ACCESS_USE, vkr_view_part(n->scene, id));
    } else if (type == VK_OBJECT_VkDescriptorSet && id) {
        add(n, VKR_IMAGE_ACCESS_SET, all_of(id));
    } else if (type == VK_OBJECT_VkCommandBuffer && id != n->record->slots[0]) {
        other = vkr_image_accesses_of(n->touched, id);
        for (size_t i = 0; other && i < other->count; i++)
            add(n, other->list[i].kind, other->list[i].part);
    }
    return true;
}

/* Draws and dispatches name nothing. */
static bool names_objects(const struct noting *n)
{
    const struct sbt_schema *schema = sbt_reader_schema(n->scene->r->reader, n->record->type);

    for (uint32_t i = 1; schema && i < schema->field_count; i++)
        if (schema->fields[i].type == SBT_FIELD_STRUCT ||
            schema->fields[i].type == SBT_FIELD_HANDLE)
            return true;
    return false;
}

static int note(struct noting *n)
{
    struct vkr_call *c = &n->call;
    int error;

    if (is_opaque(n->record->type))
        add(n, VKR_IMAGE_ACCESS_ALL, all_of(0));
    if (!names_objects(n))
        return 0;
    error = vkr_call_begin(c, n->scene->r, n->record, &n->scene->scratch, true);
    if (error == 1 && !note_args(n, n->record->type, c->args)) {
        c->decoder.handle = note_named;
        if (!vk_decode_args(&c->decoder, c->command, &c->source, c->args))
            add(n, VKR_IMAGE_ACCESS_ALL, all_of(0));
    }
    vkr_call_finish(c);
    vk_arena_reset(&n->scene->scratch);
    return error < 0 ? error : 0;
}

const struct vkr_image_accesses *vkr_image_accesses_of(const struct vkr_image_access_table *touched,
                                                       uint64_t buffer)
{
    const uint64_t *place = tsm_map_find(&touched->buffers, buffer);

    return place ? (const struct vkr_image_accesses *)(uintptr_t)*place : NULL;
}

int vkr_image_access_note(struct vkr_image_access_table *touched, struct vkr_scene *scene,
                          const struct sbt_record *record)
{
    struct noting n = {.touched = touched, .scene = scene, .record = record};
    bool added;
    uint64_t *place =
        record->slot_count ? tsm_map_insert(&touched->buffers, record->slots[0], &added) : NULL;
    int error = 0;

    if (place && added)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(*n.to));
    if (!record->slot_count)
        return 0;
    n.to = place ? (struct vkr_image_accesses *)(uintptr_t)*place : NULL;
    n.has_failed = !n.to;
    if (n.to && record->type == TYPE_vkBeginCommandBuffer)
        n.to->count = 0;
    else if (n.to)
        error = note(&n);
    return n.has_failed ? tsm_fail(TSM_E_MEMORY, "no memory for what command buffers do") : error;
}

void vkr_image_access_table_finish(struct vkr_image_access_table *touched)
{
    for (size_t i = 0; i < touched->buffers.capacity; i++) {
        struct vkr_image_accesses *t =
            touched->buffers.slots[i].used
                ? (struct vkr_image_accesses *)(uintptr_t)touched->buffers.slots[i].value
                : NULL;
        if (t)
            free(t->list);
        free(t);
    }
    tsm_map_finish(&touched->buffers);
}
