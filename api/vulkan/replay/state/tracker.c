/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about objects, from the calls that make and change them.
 */
#include "api/vulkan/replay/state/tracker.h"

#include <stdlib.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/delta.h"
#include "api/vulkan/tables/texel.h"

/* ---- fences, events, queries ------------------------------------------------------------- */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to follow an object");
}

static int make_flag(struct vkr_object *o, bool is_set, bool device_only)
{
    struct vkr_fact_flag *fact = o ? calloc(1, sizeof(*fact)) : NULL;

    if (!fact)
        return o ? no_memory() : 0;
    *fact = (struct vkr_fact_flag){.is_set = is_set, .device_only = device_only};
    free(o->fact);
    o->fact = fact;
    return 0;
}

static void set_flag(struct vkr *r, uint32_t type, uint64_t raw, bool is_set)
{
    struct vkr_object *o = raw ? vkr_object_of(r, type, raw) : NULL;
    struct vkr_fact_flag *fact = o ? o->fact : NULL;

    if (fact)
        fact->is_set = is_set;
}

void vkr_state_tracker_fence(struct vkr *r, VkFence fence, bool is_signalled)
{
    set_flag(r, VK_OBJECT_VkFence, VKR_RAW(fence), is_signalled);
}

static int create_fence(struct vkr_call *c)
{
    const struct vk_args_vkCreateFence *a = (const void *)c->args;

    return make_flag(vkr_object_of(c->r, VK_OBJECT_VkFence, VKR_RAW(*a->pFence)),
                     a->pCreateInfo->flags & VK_FENCE_CREATE_SIGNALED_BIT, false);
}

static int reset_fences(struct vkr_call *c)
{
    const struct vk_args_vkResetFences *a = (const void *)c->args;

    for (uint32_t i = 0; i < a->fenceCount; i++)
        vkr_state_tracker_fence(c->r, a->pFences[i], false);
    return 0;
}

static void set_gate(struct vkr *r, struct vkr_fact_flag *fact, bool is_gate)
{
    r->gate_count += is_gate;
    r->gate_count -= fact->is_gate;
    fact->is_gate = is_gate;
}

void vkr_state_tracker_event(struct vkr *r, struct vkr_object *event, bool is_set)
{
    struct vkr_fact_flag *fact = event ? event->fact : NULL;

    if (!fact)
        return;
    fact->is_set = is_set;
    if (is_set)
        set_gate(r, fact, false);
}

void vkr_state_tracker_wait(struct vkr *r, const struct vkr_object *event)
{
    struct vkr_fact_flag *fact = event ? event->fact : NULL;

    if (fact && !fact->is_set)
        set_gate(r, fact, true);
}

/* Nothing waits for the event any more. */
static void drop_event(struct vkr *r, struct vkr_object *event)
{
    vkr_state_tracker_event(r, event, true);
}

static int create_event(struct vkr_call *c)
{
    const struct vk_args_vkCreateEvent *a = (const void *)c->args;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkEvent, VKR_RAW(*a->pEvent));

    if (o)
        o->drop = drop_event;
    return make_flag(o, false, a->pCreateInfo->flags & VK_EVENT_CREATE_DEVICE_ONLY_BIT);
}

static int set_event(struct vkr_call *c)
{
    const struct vk_args_vkSetEvent *a = (const void *)c->args;

    vkr_state_tracker_event(c->r, vkr_object_of(c->r, VK_OBJECT_VkEvent, VKR_RAW(a->event)),
                            c->record->type == TYPE_vkSetEvent);
    return 0;
}

static int create_queries(struct vkr_call *c)
{
    const struct vk_args_vkCreateQueryPool *a = (const void *)c->args;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkQueryPool, VKR_RAW(*a->pQueryPool));
    uint32_t count = a->pCreateInfo->queryCount;
    struct vkr_fact_queries *fact = o ? calloc(1, sizeof(*fact) + count) : NULL;

    if (!fact)
        return o ? no_memory() : 0;
    fact->type = a->pCreateInfo->queryType;
    fact->statistics = a->pCreateInfo->pipelineStatistics;
    fact->count = count;
    free(o->fact);
    o->fact = fact;
    return 0;
}

static int reset_queries(struct vkr_call *c)
{
    const struct vk_args_vkResetQueryPool *a = (const void *)c->args;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkQueryPool, VKR_RAW(a->queryPool));
    struct vkr_fact_queries *fact = o ? o->fact : NULL;

    for (uint32_t i = 0; fact && i < a->queryCount && a->firstQuery + i < fact->count; i++)
        fact->states[a->firstQuery + i] = VKR_QUERY_RESET;
    return 0;
}

/* ---- images ------------------------------------------------------------------------------ */

uint32_t vkr_plane_count(VkImageAspectFlags aspects)
{
    return aspects == (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT) ? 2 : 1;
}

VkImageAspectFlags vkr_plane_aspects(VkImageAspectFlags aspects, uint32_t plane)
{
    if (vkr_plane_count(aspects) == 1)
        return aspects;
    return plane ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT;
}

int vkr_state_tracker_image(struct vkr_object *o, const VkImageCreateInfo *info)
{
    VkImageAspectFlags aspects = vk_aspects_of(info->format);
    size_t count = (size_t)info->mipLevels * info->arrayLayers * vkr_plane_count(aspects);
    struct vkr_fact_image *fact;

    if (info->mipLevels > 64 || info->arrayLayers > 1u << 20)
        return tsm_fail(TSM_E_FORMAT, "no image has so many levels or layers");
    fact = calloc(1, sizeof(*fact) + count * sizeof(fact->layouts[0]));
    if (!fact)
        return no_memory();
    fact->aspects = aspects;
    fact->levels = info->mipLevels;
    fact->layers = info->arrayLayers;
    free(o->fact);
    o->fact = fact;
    return 0;
}

static int create_image(struct vkr_call *c)
{
    const struct vk_args_vkCreateImage *a = (const void *)c->args;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkImage, VKR_RAW(*a->pImage));

    return o ? vkr_state_tracker_image(o, a->pCreateInfo) : 0;
}

static uint32_t clip(uint32_t count, uint32_t first, uint32_t end)
{
    if (first >= end)
        return 0;
    return count < end - first ? count : end - first;
}

void vkr_each_of_part(struct vkr_fact_image *fact, const struct vkr_part *part,
                      void (*visit)(void *user, uint32_t *value), void *user)
{
    uint32_t levels = clip(part->level_count, part->level, fact->levels);
    uint32_t layers = clip(part->layer_count, part->layer, fact->layers);

    for (uint32_t plane = 0; plane < vkr_plane_count(fact->aspects); plane++) {
        /* Planes of one image of several share their layout here. */
        if (vkr_plane_count(fact->aspects) > 1 &&
            !(part->aspects & vkr_plane_aspects(fact->aspects, plane)))
            continue;
        for (uint32_t i = 0; i < levels; i++)
            for (uint32_t j = 0; j < layers; j++)
                visit(
                    user,
                    &fact->layouts[((size_t)plane * fact->levels + part->level + i) * fact->layers +
                                   part->layer + j]);
    }
}

static void set_layout(void *user, uint32_t *layout)
{
    *layout = *(const uint32_t *)user;
}

void vkr_state_tracker_layout(struct vkr *r, const struct vkr_part *part, VkImageLayout layout)
{
    struct vkr_object *o = vkr_object_find(r, VK_OBJECT_VkImage, part->image);
    uint32_t value = (uint32_t)layout;

    if (o && o->fact)
        vkr_each_of_part(o->fact, part, set_layout, &value);
}

static int create_view(struct vkr_call *c)
{
    const struct vk_args_vkCreateImageView *a = (const void *)c->args;
    const VkImageSubresourceRange *range = &a->pCreateInfo->subresourceRange;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkImageView, VKR_RAW(*a->pView));
    const struct vkr_object *image =
        vkr_object_of(c->r, VK_OBJECT_VkImage, VKR_RAW(a->pCreateInfo->image));
    struct vkr_part *fact = o && image ? calloc(1, sizeof(*fact)) : NULL;

    if (!fact)
        return o && image ? no_memory() : 0;
    /* A view of one aspect of a depth/stencil image attaches both. */
    *fact = (struct vkr_part){image->id,
                              VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
                              range->baseMipLevel,
                              range->levelCount,
                              range->baseArrayLayer,
                              range->layerCount};
    free(o->fact);
    o->fact = fact;
    return 0;
}

/* ---- submits ----------------------------------------------------------------------------- */

struct submit {
    struct vkr *r;
    const struct vkr_submit_end *cut;
};

/* Returns false if the submit is cut off in this command buffer. */
static bool carry_out(void *user, VkCommandBuffer commands)
{
    static const struct vkr_until whole = {.seq = UINT64_MAX};
    const struct submit *s = user;
    const struct vkr_object *o = vkr_object_of(s->r, VK_OBJECT_VkCommandBuffer, VKR_RAW(commands));
    bool is_cut = s->cut->command_buffer && o && o->id == s->cut->command_buffer;

    vkr_state_delta_apply(s->r, commands, is_cut ? &s->cut->until : &whole);
    return !is_cut;
}

void vkr_state_tracker_submit(struct vkr *r, const struct vk_submit *submit,
                              const struct vkr_submit_end *cut)
{
    vk_submit_each_buffer(submit, carry_out, &(struct submit){r, cut});
    vkr_state_tracker_fence(r, submit->fence, true);
}

/* ---- dispatch ---------------------------------------------------------------------------- */

int vkr_state_tracker_note(struct vkr_call *c)
{
    switch (c->record->type) {
    case TYPE_vkCreateFence:
        return create_fence(c);
    case TYPE_vkResetFences:
        return reset_fences(c);
    case TYPE_vkCreateEvent:
        return create_event(c);
    case TYPE_vkSetEvent:
    case TYPE_vkResetEvent:
        return set_event(c);
    case TYPE_vkCreateQueryPool:
        return create_queries(c);
    case TYPE_vkResetQueryPool:
    case TYPE_vkResetQueryPoolEXT:
        return reset_queries(c);
    case TYPE_vkCreateImage:
        return create_image(c);
    case TYPE_vkCreateImageView:
        return create_view(c);
    default:
        return vkr_state_delta_note(c);
    }
}
