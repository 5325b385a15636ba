/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes what a command buffer will change when it is submitted: layouts of images, events, queries,
 * and places of timestamps. Notes are taken while it is recorded, in the order of its commands.
 */
#include "api/vulkan/replay/state/delta.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/timestamp_bytes.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/tables/chain.h"

enum effect_kind {
    EFFECT_LAYOUT,
    EFFECT_EVENT,
    EFFECT_WAIT, /* for an event */
    EFFECT_QUERY,
    EFFECT_SPREAD,
    EFFECT_EXECUTED, /* nothing more of `within`; noted where somebody may look there */
};

struct effect {
    uint64_t seq;           /* of the command */
    uint64_t within, inner; /* of a secondary command buffer: its id, the command there; or 0 */
    enum effect_kind kind;
    uint32_t value;
    union {
        struct vkr_part part; /* LAYOUT; of the others `image` is the object, levels are queries */
        struct vkr_spread spread;
    };
};

/* VkCommandBuffer */
struct effects {
    size_t count, capacity;
    struct effect list[];
};

/* VkRenderPass: layouts in which its attachments are left */
struct finals {
    uint32_t count;
    struct {
        VkImageLayout layout, stencil;
    } list[];
};

/* VkFramebuffer: ids of views; none where they are given later */
struct attachments {
    uint32_t count;
    uint64_t views[];
};

static struct vkr_object *commands_of(struct vkr_call *c)
{
    return c->owner && c->owner->type == VK_OBJECT_VkCommandBuffer ? c->owner : NULL;
}

static int add(struct vkr_call *c, const struct effect *effect)
{
    struct effects *all = c->owner->fact;

    if (!all || all->count == all->capacity) {
        size_t count = all ? all->count : 0, more = count ? count * 2 : 8;
        struct effects *grown = realloc(all, sizeof(*grown) + more * sizeof(*effect));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory to follow a command buffer");
        grown->count = count;
        grown->capacity = more;
        c->owner->fact = all = grown;
    }
    all->list[all->count] = *effect;
    all->list[all->count++].seq = c->record->seq;
    return 0;
}

static void clear(struct vkr_object *commands)
{
    struct effects *all = commands->fact;

    if (all)
        all->count = 0;
}

/* ---- barriers ---------------------------------------------------------------------------- */

static int add_layout(struct vkr_call *c, uint64_t image, const VkImageSubresourceRange *range,
                      VkImageLayout from, VkImageLayout to)
{
    const struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkImage, image);
    struct effect effect = {.kind = EFFECT_LAYOUT,
                            .value = (uint32_t)to,
                            .part = {o ? o->id : 0, range->aspectMask, range->baseMipLevel,
                                     range->levelCount, range->baseArrayLayer, range->layerCount}};

    return o && from != to ? add(c, &effect) : 0;
}

static int add_event(struct vkr_call *c, VkEvent event, enum effect_kind kind, bool is_set)
{
    const struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkEvent, VKR_RAW(event));
    struct effect effect = {.kind = kind, .value = is_set, .part.image = o ? o->id : 0};

    return o ? add(c, &effect) : 0;
}

static int add_waits(struct vkr_call *c, uint32_t count, const VkEvent *events)
{
    int error = 0;

    for (uint32_t i = 0; i < count && !error; i++)
        error = add_event(c, events[i], EFFECT_WAIT, false);
    return error;
}

static int barriers(struct vkr_call *c, uint32_t count, const VkImageMemoryBarrier *list)
{
    int error = 0;

    for (uint32_t i = 0; i < count && !error; i++)
        error = add_layout(c, VKR_RAW(list[i].image), &list[i].subresourceRange, list[i].oldLayout,
                           list[i].newLayout);
    return error;
}

static int dependency(struct vkr_call *c, const VkDependencyInfo *info)
{
    int error = 0;

    for (uint32_t i = 0; i < info->imageMemoryBarrierCount && !error; i++) {
        const VkImageMemoryBarrier2 *b = &info->pImageMemoryBarriers[i];
        error = add_layout(c, VKR_RAW(b->image), &b->subresourceRange, b->oldLayout, b->newLayout);
    }
    return error;
}

static int wait_events2(struct vkr_call *c)
{
    const struct vk_args_vkCmdWaitEvents2 *a = (const void *)c->args;
    int error = add_waits(c, a->eventCount, a->pEvents);

    for (uint32_t i = 0; i < a->eventCount && !error; i++)
        error = dependency(c, &a->pDependencyInfos[i]);
    return error;
}

/* ---- render passes ----------------------------------------------------------------------- */

static struct finals *make_finals(struct vkr *r, VkRenderPass raw, uint32_t count)
{
    struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkRenderPass, VKR_RAW(raw));
    struct finals *f = o ? calloc(1, sizeof(*f) + count * sizeof(f->list[0])) : NULL;

    if (!f)
        return NULL;
    f->count = count;
    free(o->fact);
    o->fact = f;
    return f;
}

static void create_pass(struct vkr_call *c)
{
    const struct vk_args_vkCreateRenderPass *a = (const void *)c->args;
    const VkRenderPassCreateInfo *info = a->pCreateInfo;
    struct finals *f = make_finals(c->r, *a->pRenderPass, info->attachmentCount);

    for (uint32_t i = 0; f && i < f->count; i++)
        f->list[i].layout = f->list[i].stencil = info->pAttachments[i].finalLayout;
}

static void create_pass2(struct vkr_call *c)
{
    const struct vk_args_vkCreateRenderPass2 *a = (const void *)c->args;
    const VkRenderPassCreateInfo2 *info = a->pCreateInfo;
    struct finals *f = make_finals(c->r, *a->pRenderPass, info->attachmentCount);

    for (uint32_t i = 0; f && i < f->count; i++) {
        const VkAttachmentDescription2 *d = &info->pAttachments[i];
        const VkAttachmentDescriptionStencilLayout *stencil =
            vk_chain_find(d->pNext, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
        f->list[i].layout = d->finalLayout;
        f->list[i].stencil = stencil ? stencil->stencilFinalLayout : d->finalLayout;
    }
}

static void create_framebuffer(struct vkr_call *c)
{
    const struct vk_args_vkCreateFramebuffer *a = (const void *)c->args;
    const VkFramebufferCreateInfo *info = a->pCreateInfo;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkFramebuffer, VKR_RAW(*a->pFramebuffer));
    uint32_t count = info->pAttachments ? info->attachmentCount : 0;
    struct attachments *f = o ? calloc(1, sizeof(*f) + count * sizeof(f->views[0])) : NULL;

    if (!f)
        return;
    f->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct vkr_object *view =
            vkr_object_of(c->r, VK_OBJECT_VkImageView, VKR_RAW(info->pAttachments[i]));
        f->views[i] = view ? view->id : 0;
    }
    free(o->fact);
    o->fact = f;
}

/* The attachment of a render pass: its view's part of an image. */
static const struct vkr_part *attachment(struct vkr *r, const VkRenderPassBeginInfo *info,
                                         uint32_t i)
{
    const VkRenderPassAttachmentBeginInfo *given =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    const struct vkr_object *framebuffer =
        vkr_object_of(r, VK_OBJECT_VkFramebuffer, VKR_RAW(info->framebuffer));
    const struct attachments *fixed = framebuffer ? framebuffer->fact : NULL;
    const struct vkr_object *view = NULL;

    if (fixed && i < fixed->count)
        view = vkr_object_find(r, VK_OBJECT_VkImageView, fixed->views[i]);
    else if (given && i < given->attachmentCount)
        view = vkr_object_of(r, VK_OBJECT_VkImageView, VKR_RAW(given->pAttachments[i]));
    return view ? view->fact : NULL;
}

/* Nothing inside the pass can change what its end leaves: it is noted at its begin. */
static int begin_pass(struct vkr_call *c, const VkRenderPassBeginInfo *info)
{
    const struct vkr_object *pass =
        vkr_object_of(c->r, VK_OBJECT_VkRenderPass, VKR_RAW(info->renderPass));
    const struct finals *finals = pass ? pass->fact : NULL;
    int error = 0;

    for (uint32_t i = 0; finals && i < finals->count && !error; i++) {
        const struct vkr_part *part = attachment(c->r, info, i);
        struct effect effect = {.kind = EFFECT_LAYOUT, .value = (uint32_t)finals->list[i].layout};
        if (!part)
            continue;
        effect.part = *part;
        error = add(c, &effect);
        if (error || finals->list[i].stencil == finals->list[i].layout)
            continue;
        effect.part.aspects = VK_IMAGE_ASPECT_STENCIL_BIT;
        effect.value = (uint32_t)finals->list[i].stencil;
        error = add(c, &effect);
    }
    return error;
}

/* ---- queries, secondary command buffers -------------------------------------------------- */

static int add_queries(struct vkr_call *c, VkQueryPool pool, uint32_t first, uint32_t count,
                       enum vkr_query state)
{
    const struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkQueryPool, VKR_RAW(pool));
    struct effect effect = {.kind = EFFECT_QUERY,
                            .value = state,
                            .part = {.image = o ? o->id : 0, .level = first, .level_count = count}};

    return o ? add(c, &effect) : 0;
}

static int execute(struct vkr_call *c)
{
    const struct vk_args_vkCmdExecuteCommands *a = (const void *)c->args;
    int error = 0;

    for (uint32_t i = 0; i < a->commandBufferCount; i++) {
        const struct vkr_object *o =
            vkr_object_of(c->r, VK_OBJECT_VkCommandBuffer, VKR_RAW(a->pCommandBuffers[i]));
        const struct effects *all = o && o != c->owner ? o->fact : NULL;
        for (size_t j = 0; all && j < all->count && !error; j++) {
            struct effect effect = all->list[j];
            effect.within = o->id;
            effect.inner = all->list[j].seq;
            error = add(c, &effect);
        }
        if (o && c->r->inspect && !error)
            error = add(c, &(struct effect){.kind = EFFECT_EXECUTED, .within = o->id});
    }
    return error;
}

static void reset_pool(struct vkr_call *c)
{
    const struct vk_args_vkResetCommandPool *a = (const void *)c->args;
    const struct vkr_object *pool =
        vkr_object_of(c->r, VK_OBJECT_VkCommandPool, VKR_RAW(a->commandPool));

    for (struct vkr_object *o = pool ? pool->children : NULL; o; o = o->next_sibling)
        clear(o);
}

/* ---- times -------------------------------------------------------------------------------- */

static int results(struct vkr_call *c)
{
    struct effect effect = {.kind = EFFECT_SPREAD};

    return vkr_timestamp_bytes_results(c->r, (const void *)c->args, &effect.spread)
               ? add(c, &effect)
               : 0;
}

static int add_copy(struct vkr_call *c, VkBuffer from, uint64_t from_offset, VkBuffer to,
                    uint64_t to_offset, uint64_t size)
{
    const struct vkr_object *source = vkr_object_of(c->r, VK_OBJECT_VkBuffer, VKR_RAW(from));
    const struct vkr_object *target = vkr_object_of(c->r, VK_OBJECT_VkBuffer, VKR_RAW(to));
    struct effect effect = {.kind = EFFECT_SPREAD};

    if (!source || !target)
        return 0;
    effect.spread = (struct vkr_spread){.kind = VKR_SPREAD_COPY,
                                        .from = source->id,
                                        .from_offset = from_offset,
                                        .to = target->id,
                                        .to_offset = to_offset,
                                        .size = size};
    return add(c, &effect);
}

/* Something that is no time is written over what may have been one. */
static int overwrites(struct vkr_call *c)
{
    const struct vk_args_vkCmdFillBuffer *fill = (const void *)c->args;
    const struct vk_args_vkCmdUpdateBuffer *update = (const void *)c->args;
    bool is_fill = c->record->type == TYPE_vkCmdFillBuffer;
    const struct vkr_object *target = vkr_object_of(
        c->r, VK_OBJECT_VkBuffer, VKR_RAW(is_fill ? fill->dstBuffer : update->dstBuffer));
    struct effect effect = {.kind = EFFECT_SPREAD};

    if (!c->r->has_stamps || !target)
        return 0;
    effect.spread = (struct vkr_spread){.kind = VKR_SPREAD_OTHER,
                                        .to = target->id,
                                        .to_offset = is_fill ? fill->dstOffset : update->dstOffset,
                                        .size = is_fill ? fill->size : update->dataSize};
    return add(c, &effect);
}

/* Only where there are times that could be copied. */
static int copies(struct vkr_call *c)
{
    const struct vk_args_vkCmdCopyBuffer *one = (const void *)c->args;
    const struct vk_args_vkCmdCopyBuffer2 *two = (const void *)c->args;
    int error = 0;

    if (!c->r->has_stamps)
        return 0;
    if (c->record->type == TYPE_vkCmdCopyBuffer) {
        for (uint32_t i = 0; i < one->regionCount && !error; i++)
            error = add_copy(c, one->srcBuffer, one->pRegions[i].srcOffset, one->dstBuffer,
                             one->pRegions[i].dstOffset, one->pRegions[i].size);
        return error;
    }
    for (uint32_t i = 0; i < two->pCopyBufferInfo->regionCount && !error; i++) {
        const VkBufferCopy2 *part = &two->pCopyBufferInfo->pRegions[i];
        error = add_copy(c, two->pCopyBufferInfo->srcBuffer, part->srcOffset,
                         two->pCopyBufferInfo->dstBuffer, part->dstOffset, part->size);
    }
    return error;
}

/* ---- dispatch ---------------------------------------------------------------------------- */

/* Made outside of command buffers. */
static bool made(struct vkr_call *c)
{
    switch (c->record->type) {
    case TYPE_vkCreateRenderPass:
        create_pass(c);
        return true;
    case TYPE_vkCreateRenderPass2:
    case TYPE_vkCreateRenderPass2KHR:
        create_pass2(c);
        return true;
    case TYPE_vkCreateFramebuffer:
        create_framebuffer(c);
        return true;
    case TYPE_vkResetCommandPool:
        reset_pool(c);
        return true;
    default:
        return false;
    }
}

static int barrier(struct vkr_call *c)
{
    const struct vk_args_vkCmdPipelineBarrier *p = (const void *)c->args;
    const struct vk_args_vkCmdWaitEvents *w = (const void *)c->args;
    const struct vk_args_vkCmdPipelineBarrier2 *p2 = (const void *)c->args;
    int error;

    switch (c->record->type) {
    case TYPE_vkCmdPipelineBarrier:
        return barriers(c, p->imageMemoryBarrierCount, p->pImageMemoryBarriers);
    case TYPE_vkCmdWaitEvents:
        error = add_waits(c, w->eventCount, w->pEvents);
        return error ? error : barriers(c, w->imageMemoryBarrierCount, w->pImageMemoryBarriers);
    case TYPE_vkCmdPipelineBarrier2:
    case TYPE_vkCmdPipelineBarrier2KHR:
        return dependency(c, p2->pDependencyInfo);
    default:
        return wait_events2(c);
    }
}

static int query(struct vkr_call *c)
{
    const struct vk_args_vkCmdResetQueryPool *reset = (const void *)c->args;
    const struct vk_args_vkCmdEndQuery *end = (const void *)c->args;
    const struct vk_args_vkCmdWriteTimestamp *stamp = (const void *)c->args;
    const struct vk_args_vkCmdWriteTimestamp2 *stamp2 = (const void *)c->args;

    switch (c->record->type) {
    case TYPE_vkCmdResetQueryPool:
        return add_queries(c, reset->queryPool, reset->firstQuery, reset->queryCount,
                           VKR_QUERY_RESET);
    case TYPE_vkCmdWriteTimestamp:
        return add_queries(c, stamp->queryPool, stamp->query, 1, VKR_QUERY_AVAILABLE);
    case TYPE_vkCmdWriteTimestamp2:
    case TYPE_vkCmdWriteTimestamp2KHR:
        return add_queries(c, stamp2->queryPool, stamp2->query, 1, VKR_QUERY_AVAILABLE);
    default: /* vkCmdEndQueryIndexedEXT begins like vkCmdEndQuery */
        return add_queries(c, end->queryPool, end->query, 1, VKR_QUERY_AVAILABLE);
    }
}

int vkr_state_delta_note(struct vkr_call *c)
{
    const struct vk_args_vkCmdBeginRenderPass *pass = (const void *)c->args;
    const struct vk_args_vkCmdSetEvent *event = (const void *)c->args;

    if (made(c) || !commands_of(c))
        return 0;
    switch (c->record->type) {
    case TYPE_vkBeginCommandBuffer:
    case TYPE_vkResetCommandBuffer:
        clear(c->owner);
        return 0;
    case TYPE_vkCmdPipelineBarrier:
    case TYPE_vkCmdWaitEvents:
    case TYPE_vkCmdPipelineBarrier2:
    case TYPE_vkCmdPipelineBarrier2KHR:
    case TYPE_vkCmdWaitEvents2:
    case TYPE_vkCmdWaitEvents2KHR:
        return barrier(c);
    case TYPE_vkCmdBeginRenderPass:
    case TYPE_vkCmdBeginRenderPass2:
    case TYPE_vkCmdBeginRenderPass2KHR:
        return begin_pass(c, pass->pRenderPassBegin);
    case TYPE_vkCmdSetEvent:
    case TYPE_vkCmdSetEvent2:
    case TYPE_vkCmdSetEvent2KHR:
        return add_event(c, event->event, EFFECT_EVENT, true);
    case TYPE_vkCmdResetEvent:
    case TYPE_vkCmdResetEvent2:
    case TYPE_vkCmdResetEvent2KHR:
        return add_event(c, event->event, EFFECT_EVENT, false);
    case TYPE_vkCmdResetQueryPool:
    case TYPE_vkCmdEndQuery:
    case TYPE_vkCmdEndQueryIndexedEXT:
    case TYPE_vkCmdWriteTimestamp:
    case TYPE_vkCmdWriteTimestamp2:
    case TYPE_vkCmdWriteTimestamp2KHR:
        return query(c);
    case TYPE_vkCmdExecuteCommands:
        return execute(c);
    case TYPE_vkCmdCopyQueryPoolResults:
        return results(c);
    case TYPE_vkCmdCopyBuffer:
    case TYPE_vkCmdCopyBuffer2:
    case TYPE_vkCmdCopyBuffer2KHR:
        return copies(c);
    case TYPE_vkCmdFillBuffer:
    case TYPE_vkCmdUpdateBuffer:
        return overwrites(c);
    default:
        return 0;
    }
}

/* ---- it comes true ----------------------------------------------------------------------- */

static void apply(struct vkr *r, const struct effect *e)
{
    struct vkr_object *o;

    if (e->kind == EFFECT_SPREAD) {
        vkr_timestamp_bytes_apply(r, &e->spread);
    } else if (e->kind == EFFECT_LAYOUT) {
        vkr_state_tracker_layout(r, &e->part, (VkImageLayout)e->value);
    } else if (e->kind == EFFECT_EVENT) {
        vkr_state_tracker_event(r, vkr_object_find(r, VK_OBJECT_VkEvent, e->part.image), e->value);
    } else if (e->kind == EFFECT_WAIT) {
        vkr_state_tracker_wait(r, vkr_object_find(r, VK_OBJECT_VkEvent, e->part.image));
    } else if (e->kind == EFFECT_QUERY) {
        o = vkr_object_find(r, VK_OBJECT_VkQueryPool, e->part.image);
        struct vkr_fact_queries *fact = o ? o->fact : NULL;
        for (uint32_t i = 0; fact && i < e->part.level_count && i + e->part.level < fact->count;
             i++)
            fact->states[e->part.level + i] = (uint8_t)e->value;
    }
}

static bool is_behind(const struct effect *e, const struct vkr_until *until)
{
    if (e->seq != until->seq || e->within != until->within || !e->within)
        return e->seq > until->seq;
    return e->inner > until->inner || e->kind == EFFECT_EXECUTED;
}

void vkr_state_delta_apply(struct vkr *r, VkCommandBuffer commands, const struct vkr_until *until)
{
    const struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkCommandBuffer, VKR_RAW(commands));
    const struct effects *all = o ? o->fact : NULL;

    for (size_t i = 0; all && i < all->count && !is_behind(&all->list[i], until); i++)
        apply(r, &all->list[i]);
}
