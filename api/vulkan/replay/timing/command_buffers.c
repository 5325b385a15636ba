/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/timing/command_buffers.h"

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/chain.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8u
#define TIMED_MAX 65536u

enum bind_point {
    GRAPHICS,
    COMPUTE,
    RAYS,
    BIND_POINT_COUNT,
};

/* Data that a VkCommandBuffer object keeps. */
struct timed_buffer {
    struct vkr_time_family *family; /* NULL: it cannot be timed */
    struct vkr_recording *recording;
    uint64_t objects[BIND_POINT_COUNT]; /* ids of pipelines that are bound; 0: none */
    bool is_secondary;
    bool in_multiview;       /* in a render pass in which a timestamp takes several queries */
    bool has_shader_objects; /* pipelines do not say what commands run */
};

/* Data that a VkCommandPool object keeps. */
struct timed_pool {
    uint32_t family;
    bool can_time;
};

/* Begin of command buffers of ours that are recorded once. */
static const VkCommandBufferBeginInfo own_begin = {
    .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
    .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

/* ---- recordings ---------------------------------------------------------------------------- */

void vkr_recording_drop(struct vkr_recording *r)
{
    struct vkr_execution *next;

    if (!r || --r->refs)
        return;
    for (struct vkr_execution *e = r->executed; e; e = next) {
        next = e->next;
        vkr_recording_drop(e->recording);
        free(e);
    }
    if (r->family) {
        vkr_query_blocks_give(r->family, r->blocks);
        vkr_own_buffer_give(r->family, r->reset);
        vkr_result_room_give(r->family, r->room);
    }
    free(r);
}

static struct timed_buffer *buffer_of(const struct vkr_object *o)
{
    return o && o->type == VK_OBJECT_VkCommandBuffer ? o->user : NULL;
}

struct vkr_recording *vkr_recording_of(const struct vkr *r, VkCommandBuffer commands)
{
    const struct timed_buffer *b =
        buffer_of(vkr_object_of(r, VK_OBJECT_VkCommandBuffer, VKR_RAW(commands)));

    return b ? b->recording : NULL;
}

static void forget(struct timed_buffer *b)
{
    if (!b)
        return;
    vkr_recording_drop(b->recording);
    b->recording = NULL;
}

static void drop_buffer(struct vkr *r, struct vkr_object *o)
{
    forget(o->user);
    free(o->user);
}

/* A trace may claim what no program can do. */
static bool may_execute(const struct vkr_recording *r, const struct vkr_recording *secondary)
{
    return !r->is_ended && secondary->is_ended && secondary->depth < DEPTH_MAX &&
           r->timed_count + secondary->timed_count <= TIMED_MAX;
}

static void execute(struct vkr_recording *r, struct vkr_recording *secondary)
{
    struct vkr_execution *e = secondary->timed_count ? calloc(1, sizeof(*e)) : NULL;

    if (e) {
        *e = (struct vkr_execution){r->executed, secondary, r->count};
        secondary->refs++;
        r->executed = e;
        r->timed_count += secondary->timed_count;
        if (r->depth <= secondary->depth)
            r->depth = secondary->depth + 1;
    }
    r->count += secondary->count;
}

/* ---- pools and command buffers ------------------------------------------------------------- */

static bool has_extension(const struct vkr *r, const struct vkr_device *d, const char *name)
{
    for (const struct vkr_required_device *n = r->needs.devices; n; n = n->next)
        for (uint32_t i = 0; n->id == d->id && i < n->info->enabledExtensionCount; i++)
            if (n->info->ppEnabledExtensionNames[i] &&
                strcmp(n->info->ppEnabledExtensionNames[i], name) == 0)
                return true;
    return false;
}

static void create_pool(struct vkr_call *c)
{
    const struct vk_args_vkCreateCommandPool *a = (const void *)c->args;
    struct vkr_object *o = vkr_object_of(c->r, VK_OBJECT_VkCommandPool, VKR_RAW(*a->pCommandPool));
    struct timed_pool *pool = o && o->device && !o->user ? calloc(1, sizeof(*pool)) : NULL;

    if (!pool)
        return;
    pool->family = a->pCreateInfo->queueFamilyIndex;
    pool->can_time = !(a->pCreateInfo->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT) &&
                     vkr_time_mask(o->device, pool->family) &&
                     !has_extension(c->r, o->device, "VK_QCOM_tile_shading");
    o->user = pool;
}

static void allocate(struct vkr_call *c)
{
    const struct vk_args_vkAllocateCommandBuffers *a = (const void *)c->args;
    const VkCommandBufferAllocateInfo *info = a->pAllocateInfo;
    const struct vkr_object *o =
        vkr_object_of(c->r, VK_OBJECT_VkCommandPool, VKR_RAW(info->commandPool));
    const struct timed_pool *pool = o ? o->user : NULL;

    for (uint32_t i = 0; pool && pool->can_time && i < info->commandBufferCount; i++) {
        struct vkr_object *commands =
            vkr_object_of(c->r, VK_OBJECT_VkCommandBuffer, VKR_RAW(a->pCommandBuffers[i]));
        struct timed_buffer *b = commands && !commands->user ? calloc(1, sizeof(*b)) : NULL;

        if (!b)
            continue;
        b->family = vkr_time_family_of(c->r, o->device, pool->family);
        b->is_secondary = info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
        b->has_shader_objects = has_extension(c->r, o->device, "VK_EXT_shader_object");
        commands->user = b;
        commands->drop = drop_buffer;
    }
}

static void reset_pool(struct vkr_call *c)
{
    const struct vk_args_vkResetCommandPool *a = (const void *)c->args;
    const struct vkr_object *o =
        vkr_object_of(c->r, VK_OBJECT_VkCommandPool, VKR_RAW(a->commandPool));

    for (const struct vkr_object *child = o ? o->children : NULL; child;
         child = child->next_sibling)
        forget(buffer_of(child));
}

/* ---- render passes ------------------------------------------------------------------------- */

/* A VkRenderPass whose object keeps anything has several views. */
static bool has_views(const struct vkr *r, VkRenderPass pass)
{
    const struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkRenderPass, VKR_RAW(pass));

    return o && o->user;
}

static void note_views(struct vkr *r, VkRenderPass pass, uint32_t mask)
{
    struct vkr_object *o = vkr_object_of(r, VK_OBJECT_VkRenderPass, VKR_RAW(pass));

    if (o && !o->user && mask)
        o->user = calloc(1, 1);
}

static void create_pass(struct vkr_call *c)
{
    const struct vk_args_vkCreateRenderPass *a = (const void *)c->args;
    const VkRenderPassMultiviewCreateInfo *views =
        vk_chain_find(a->pCreateInfo->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
    uint32_t mask = 0;

    for (uint32_t i = 0; views && i < views->subpassCount; i++)
        mask |= views->pViewMasks[i];
    note_views(c->r, *a->pRenderPass, mask);
}

static void create_pass2(struct vkr_call *c)
{
    const struct vk_args_vkCreateRenderPass2 *a = (const void *)c->args;
    uint32_t mask = 0;

    for (uint32_t i = 0; i < a->pCreateInfo->subpassCount; i++)
        mask |= a->pCreateInfo->pSubpasses[i].viewMask;
    note_views(c->r, *a->pRenderPass, mask);
}

/* ---- begin and end ------------------------------------------------------------------------- */

static bool may_time(const struct timed_buffer *b, const VkCommandBufferBeginInfo *info)
{
    const bool may_repeat = info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    const VkCommandBufferInheritanceConditionalRenderingInfoEXT *condition;

    if (!b->family)
        return false;
    if (!b->is_secondary)
        return !may_repeat || b->family->is_lone;
    condition =
        info->pInheritanceInfo
            ? vk_chain_find(
                  info->pInheritanceInfo->pNext,
                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT)
            : NULL;
    return !may_repeat && !(condition && condition->conditionalRenderingEnable);
}

/* Tests whether a secondary command buffer goes into a render pass with several views. */
static bool inherits_views(const struct vkr *r, const struct timed_buffer *b,
                           const VkCommandBufferBeginInfo *info)
{
    const VkCommandBufferInheritanceRenderingInfo *rendering;

    if (!b->is_secondary || !info->pInheritanceInfo ||
        !(info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT))
        return false;
    if (info->pInheritanceInfo->renderPass)
        return has_views(r, info->pInheritanceInfo->renderPass);
    rendering = vk_chain_find(info->pInheritanceInfo->pNext,
                              VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO);
    return rendering && rendering->viewMask;
}

static void begin(const struct vkr_call *c, struct timed_buffer *b)
{
    const struct vk_args_vkBeginCommandBuffer *a = (const void *)c->args;

    forget(b);
    memset(b->objects, 0, sizeof(b->objects));
    b->in_multiview = inherits_views(c->r, b, a->pBeginInfo);
    b->recording = calloc(1, sizeof(*b->recording));
    if (!b->recording)
        return;
    b->recording->refs = 1;
    b->recording->family = may_time(b, a->pBeginInfo) ? b->family : NULL;
}

static uint32_t query_count(const struct vkr_recording *r)
{
    uint32_t count = 0;

    for (const struct vkr_query_block *block = r->blocks; block; block = block->next)
        count += 2 * block->count;
    return count;
}

static void record_reset(const struct vkr_recording *r)
{
    const struct vk_device_functions *f = &r->family->device->dispatch.f;

    f->vkBeginCommandBuffer(r->reset, &own_begin);
    for (const struct vkr_query_block *block = r->blocks; block; block = block->next)
        f->vkCmdResetQueryPool(r->reset, block->queries, 0, 2 * block->count);
    f->vkEndCommandBuffer(r->reset);
}

static void record_copy(const struct vkr_recording *r)
{
    const struct vk_device_functions *f = &r->family->device->dispatch.f;
    const struct vkr_result_room *room = r->room;
    uint32_t at = 0;

    f->vkBeginCommandBuffer(room->copy, &own_begin);
    for (const struct vkr_query_block *block = r->blocks; block; block = block->next) {
        f->vkCmdCopyQueryPoolResults(room->copy, block->queries, 0, 2 * block->count, room->buffer,
                                     at * sizeof(*room->results), sizeof(*room->results),
                                     VK_QUERY_RESULT_64_BIT |
                                         VK_QUERY_RESULT_WITH_AVAILABILITY_BIT |
                                         VK_QUERY_RESULT_WAIT_BIT);
        at += 2 * block->count;
    }
    f->vkEndCommandBuffer(room->copy);
}

static void end(struct timed_buffer *b)
{
    struct vkr_recording *r = b->recording;

    if (!r || r->is_ended)
        return;
    r->is_ended = true;
    if (!r->blocks)
        return;
    record_reset(r);
    r->room = vkr_result_room_take(r->family, query_count(r));
    if (r->room)
        record_copy(r);
    r->timed_count++;
}

static void execute_commands(const struct vkr_call *c, struct timed_buffer *b)
{
    const struct vk_args_vkCmdExecuteCommands *a = (const void *)c->args;

    for (uint32_t i = 0; b->recording && i < a->commandBufferCount; i++) {
        struct vkr_recording *secondary = vkr_recording_of(c->r, a->pCommandBuffers[i]);

        if (secondary && may_execute(b->recording, secondary))
            execute(b->recording, secondary);
    }
}

static void bind_pipeline(const struct vkr_call *c, struct timed_buffer *b)
{
    const struct vk_args_vkCmdBindPipeline *a = (const void *)c->args;
    const uint64_t id = c->record->slot_count > 2 ? c->record->slots[2] : 0;

    if (b->has_shader_objects)
        return;
    if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_GRAPHICS)
        b->objects[GRAPHICS] = id;
    else if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
        b->objects[COMPUTE] = id;
    else if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
        b->objects[RAYS] = id;
}

/* ---- commands ------------------------------------------------------------------------------ */

/* Returns the id of what a command runs. */
static uint64_t object_of(const struct timed_buffer *b, const char *name)
{
    if (strncmp(name, "vkCmdDispatch", 13) == 0)
        return b->objects[COMPUTE];
    if (strncmp(name, "vkCmdDraw", 9) == 0)
        return b->objects[GRAPHICS];
    return strncmp(name, "vkCmdTraceRays", 14) == 0 ? b->objects[RAYS] : 0;
}

/* Returns false where there is no block, or nothing that could reset it. */
static bool make_room(struct vkr *r, struct vkr_recording *recording)
{
    struct vkr_query_block *b;

    if (recording->last && recording->last->count < VKR_BLOCK_COMMANDS)
        return true;
    if (!recording->reset)
        recording->reset = vkr_own_buffer_take(recording->family);
    b = recording->reset ? vkr_query_block_take(r, recording->family) : NULL;
    if (!b)
        return false;
    if (recording->last)
        recording->last->next = b;
    else
        recording->blocks = b;
    recording->last = b;
    return true;
}

static void write_timestamp(const struct vkr_call *c, const struct vkr_query_block *b,
                            uint32_t which)
{
    c->owner->device->dispatch.f.vkCmdWriteTimestamp((VkCommandBuffer)(uintptr_t)c->owner->raw,
                                                     VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                                     b->queries, 2 * b->count + which);
}

void vkr_command_begins(struct vkr_command_timing *timing, struct vkr_call *c)
{
    struct timed_buffer *b;
    struct vkr_recording *r;

    timing->recording = NULL;
    if (!c->r->options->time_commands || !(c->command->flags & VK_COMMAND_IS_TIMED))
        return;
    b = buffer_of(c->owner);
    r = b ? b->recording : NULL;
    if (!r || r->is_ended)
        return;
    r->count++;
    if (!r->family || b->in_multiview || !make_room(c->r, r))
        return;
    timing->recording = r;
    timing->command = (struct vkr_timed_command){object_of(b, vk_name(c->command->name)), r->count,
                                                 c->record->type};
    write_timestamp(c, r->last, 0);
}

/* Follows what changes a command buffer. */
static void follow_buffer(struct vkr_call *c, struct timed_buffer *b)
{
    const struct vk_args_vkCmdBeginRenderPass *pass = (const void *)c->args;
    const struct vk_args_vkCmdBeginRendering *rendering = (const void *)c->args;

    switch (c->record->type) {
    case TYPE_vkBeginCommandBuffer:
        begin(c, b);
        break;
    case TYPE_vkEndCommandBuffer:
        end(b);
        break;
    case TYPE_vkResetCommandBuffer:
        forget(b);
        break;
    case TYPE_vkCmdExecuteCommands:
        execute_commands(c, b);
        break;
    case TYPE_vkCmdBindPipeline:
        bind_pipeline(c, b);
        break;
    case TYPE_vkCmdBeginRenderPass:
    case TYPE_vkCmdBeginRenderPass2:
    case TYPE_vkCmdBeginRenderPass2KHR:
        b->in_multiview = has_views(c->r, pass->pRenderPassBegin->renderPass);
        break;
    case TYPE_vkCmdBeginRendering:
    case TYPE_vkCmdBeginRenderingKHR:
        b->in_multiview = rendering->pRenderingInfo->viewMask != 0;
        break;
    case TYPE_vkCmdEndRenderPass:
    case TYPE_vkCmdEndRenderPass2:
    case TYPE_vkCmdEndRenderPass2KHR:
    case TYPE_vkCmdEndRendering:
    case TYPE_vkCmdEndRenderingKHR:
        b->in_multiview = false;
        break;
    default:
        break;
    }
}

void vkr_command_ends(const struct vkr_command_timing *timing, struct vkr_call *c)
{
    struct timed_buffer *b;

    if (!c->r->options->time_commands || c->command->kind == SBT_KIND_DESTROY)
        return; /* c->owner may be gone */
    if (timing->recording) {
        struct vkr_query_block *block = timing->recording->last;

        write_timestamp(c, block, 1);
        block->commands[block->count++] = timing->command;
        return;
    }
    b = buffer_of(c->owner);
    if (b)
        follow_buffer(c, b);
    else if (c->record->type == TYPE_vkCreateCommandPool)
        create_pool(c);
    else if (c->record->type == TYPE_vkAllocateCommandBuffers)
        allocate(c);
    else if (c->record->type == TYPE_vkResetCommandPool)
        reset_pool(c);
    else if (c->record->type == TYPE_vkCreateRenderPass)
        create_pass(c);
    else if (c->record->type == TYPE_vkCreateRenderPass2 ||
             c->record->type == TYPE_vkCreateRenderPass2KHR)
        create_pass2(c);
}
