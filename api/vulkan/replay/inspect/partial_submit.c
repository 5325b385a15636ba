/* SPDX-License-Identifier: Apache-2.0
 *
 * A submit that ends after one command: the command buffer is recorded again from the trace up to
 * there, what is open then (render passes, queries) is ended, and it takes the place of the
 * recorded one. Nothing after it is submitted and nothing is signalled: the replay ends there.
 */
#include "api/vulkan/replay/inspect/partial_submit.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/inspect/scene.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/state/tracker.h"
#include "api/vulkan/tables/chain.h"

#define OPEN_MAX 64u

enum scope {
    SCOPE_PASS,
    SCOPE_PASS2,
    SCOPE_RENDERING,
    SCOPE_QUERY,
    SCOPE_CONDITION,
    SCOPE_FEEDBACK
};

/* Scopes that were begun and not ended, the last one last. */
struct open {
    enum scope scope;
    uint32_t subpasses;    /* of a pass: that are still to come */
    struct vkr_call *call; /* of a query or feedback: its begin */
    VkQueryPool pool;
    uint32_t query;
};

struct cut {
    struct vkr *r;
    struct vkr_scene *scene;
    struct vkr_device *device;
    struct open open[OPEN_MAX];
    uint32_t open_count;
    VkCommandBuffer secondary; /* takes the place of the one that is cut off; NULL: none */
};

static struct vk_device_functions *functions(const struct cut *cut)
{
    return &cut->device->dispatch.f;
}

/* ---- what is open ------------------------------------------------------------------------ */

static void begin_scope(struct cut *cut, struct open open)
{
    if (cut->open_count < OPEN_MAX)
        cut->open[cut->open_count++] = open;
}

static void end_scope(struct cut *cut, enum scope scope)
{
    for (uint32_t i = cut->open_count; i > 0; i--)
        if (cut->open[i - 1].scope == scope) {
            memmove(&cut->open[i - 1], &cut->open[i], (cut->open_count - i) * sizeof(cut->open[0]));
            cut->open_count--;
            return;
        }
}

static void next_subpass(struct cut *cut)
{
    for (uint32_t i = cut->open_count; i > 0; i--)
        if (cut->open[i - 1].scope <= SCOPE_PASS2 && cut->open[i - 1].subpasses)
            cut->open[i - 1].subpasses--;
}

/* `planned`: the same record with ids for handles. */
static void begin_pass(struct cut *cut, const struct vkr_call *planned, enum scope scope)
{
    const struct vk_args_vkCmdBeginRenderPass *a = (const void *)planned->args;
    uint32_t count = vkr_scene_subpass_count(cut->scene, VKR_RAW(a->pRenderPassBegin->renderPass));

    begin_scope(cut, (struct open){.scope = scope, .subpasses = count ? count - 1 : 0});
}

static void begin_query(struct cut *cut, const struct vkr_call *c)
{
    const struct vk_args_vkCmdBeginQuery *a = (const void *)c->args;

    begin_scope(cut, (struct open){.scope = SCOPE_QUERY, .pool = a->queryPool, .query = a->query});
}

static void note(struct cut *cut, const struct vkr_call *c, const struct vkr_call *planned)
{
    switch (c->record->type) {
    case TYPE_vkCmdBeginRenderPass:
        begin_pass(cut, planned, SCOPE_PASS);
        break;
    case TYPE_vkCmdBeginRenderPass2:
    case TYPE_vkCmdBeginRenderPass2KHR:
        begin_pass(cut, planned, SCOPE_PASS2);
        break;
    case TYPE_vkCmdNextSubpass:
    case TYPE_vkCmdNextSubpass2:
    case TYPE_vkCmdNextSubpass2KHR:
        next_subpass(cut);
        break;
    case TYPE_vkCmdEndRenderPass:
        end_scope(cut, SCOPE_PASS);
        break;
    case TYPE_vkCmdEndRenderPass2:
    case TYPE_vkCmdEndRenderPass2KHR:
        end_scope(cut, SCOPE_PASS2);
        break;
    case TYPE_vkCmdBeginRendering:
    case TYPE_vkCmdBeginRenderingKHR:
        begin_scope(cut, (struct open){.scope = SCOPE_RENDERING});
        break;
    case TYPE_vkCmdEndRendering:
    case TYPE_vkCmdEndRenderingKHR:
        end_scope(cut, SCOPE_RENDERING);
        break;
    case TYPE_vkCmdBeginQuery:
    case TYPE_vkCmdBeginQueryIndexedEXT:
        begin_query(cut, c);
        break;
    case TYPE_vkCmdEndQuery:
    case TYPE_vkCmdEndQueryIndexedEXT:
        end_scope(cut, SCOPE_QUERY);
        break;
    case TYPE_vkCmdBeginConditionalRenderingEXT:
        begin_scope(cut, (struct open){.scope = SCOPE_CONDITION});
        break;
    case TYPE_vkCmdEndConditionalRenderingEXT:
        end_scope(cut, SCOPE_CONDITION);
        break;
    case TYPE_vkCmdBeginTransformFeedbackEXT:
        begin_scope(cut, (struct open){.scope = SCOPE_FEEDBACK});
        break;
    case TYPE_vkCmdEndTransformFeedbackEXT:
        end_scope(cut, SCOPE_FEEDBACK);
        break;
    default:
        break;
    }
}

static void end_pass(const struct cut *cut, const struct open *o, VkCommandBuffer commands)
{
    const struct vk_device_functions *f = functions(cut);
    VkSubpassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO};
    VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
    PFN_vkCmdNextSubpass2 next2 =
        f->vkCmdNextSubpass2 ? f->vkCmdNextSubpass2 : f->vkCmdNextSubpass2KHR;
    PFN_vkCmdEndRenderPass2 end2 =
        f->vkCmdEndRenderPass2 ? f->vkCmdEndRenderPass2 : f->vkCmdEndRenderPass2KHR;

    for (uint32_t i = 0; i < o->subpasses; i++)
        if (o->scope == SCOPE_PASS)
            f->vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
        else
            next2(commands, &begin, &end);
    if (o->scope == SCOPE_PASS)
        f->vkCmdEndRenderPass(commands);
    else
        end2(commands, &end);
}

static void end_all(struct cut *cut, VkCommandBuffer commands)
{
    const struct vk_device_functions *f = functions(cut);

    while (cut->open_count) {
        const struct open *o = &cut->open[--cut->open_count];
        if (o->scope <= SCOPE_PASS2)
            end_pass(cut, o, commands);
        else if (o->scope == SCOPE_RENDERING)
            (f->vkCmdEndRendering ? f->vkCmdEndRendering : f->vkCmdEndRenderingKHR)(commands);
        else if (o->scope == SCOPE_QUERY)
            f->vkCmdEndQuery(commands, o->pool, o->query);
        else if (o->scope == SCOPE_CONDITION)
            f->vkCmdEndConditionalRenderingEXT(commands);
        else
            f->vkCmdEndTransformFeedbackEXT(commands, 0, 0, NULL, NULL);
    }
}

/* ---- recording again ---------------------------------------------------------------------- */

/* Executes secondary command buffers up to the one that is cut off. */
static void execute_cut(const struct cut *cut, struct vkr_call *c, const struct vkr_call *planned)
{
    struct vk_args_vkCmdExecuteCommands *a = (void *)c->args;
    const struct vk_args_vkCmdExecuteCommands *ids = (const void *)planned->args;
    VkCommandBuffer *list = (VkCommandBuffer *)(uintptr_t)a->pCommandBuffers; /* in our arena */

    for (uint32_t i = 0; i < a->commandBufferCount; i++)
        if (VKR_RAW(ids->pCommandBuffers[i]) == cut->r->inspect->command_buffer) {
            list[i] = cut->secondary;
            a->commandBufferCount = i + 1;
        }
}

/* The first argument of all that is recorded into a command buffer is that. */
static int repeat(struct cut *cut, VkCommandBuffer commands, struct vkr_call *c,
                  const struct vkr_call *planned)
{
    int64_t result;

    memcpy(c->args, &commands, sizeof(commands));
    if (cut->secondary && c->record->seq == cut->r->inspect->execute_seq)
        execute_cut(cut, c, planned);
    result = vk_call(&cut->device->instance->dispatch, &cut->device->dispatch, c->place, c->args);
    if (c->record->type == TYPE_vkBeginCommandBuffer && result < 0)
        return vkr_fail("vkBeginCommandBuffer", result);
    note(cut, c, planned);
    return 0;
}

static int repeat_record(struct cut *cut, VkCommandBuffer commands, struct vk_arena *arena,
                         const struct sbt_record *record)
{
    struct vkr_call c, planned;
    int error;

    if (!record)
        return tsm_fail(TSM_E_FORMAT, "a command of its command buffer cannot be read");
    error = vkr_call_begin(&planned, cut->r, record, arena, true);
    if (error == 1) {
        error = vkr_call_begin(&c, cut->r, record, arena, false);
        if (error == 1)
            error = repeat(cut, commands, &c, &planned);
        vkr_call_finish(&c);
    }
    vkr_call_finish(&planned);
    vk_arena_reset(arena);
    return error;
}

/* Records the commands up to and with `last` as recorded, then ends everything. */
static int record_until(struct cut *cut, VkCommandBuffer commands, uint64_t id, uint64_t last)
{
    const struct vkr_scene_object *made = vkr_scene_find(cut->scene, VK_OBJECT_VkCommandBuffer, id);
    const struct vkr_commands *recorded = made ? made->content : NULL;
    struct vk_arena arena;
    int error = 0;

    vk_arena_init(&arena, VK_ARENA_LIMIT);
    cut->open_count = 0;
    for (size_t i = 0; recorded && i < recorded->count && !error && recorded->seqs[i] <= last; i++)
        error =
            repeat_record(cut, commands, &arena, vkr_scene_command(cut->scene, recorded->seqs[i]));
    vk_arena_finish(&arena);
    if (error)
        return error;
    end_all(cut, commands);
    VkResult result = functions(cut)->vkEndCommandBuffer(commands);
    return result >= 0 ? 0 : vkr_fail("vkEndCommandBuffer, behind a command", result);
}

static uint32_t family_of(const struct vkr_scene *scene, uint64_t command_buffer)
{
    const struct vkr_scene_object *made =
        vkr_scene_find(scene, VK_OBJECT_VkCommandBuffer, command_buffer);
    const struct vk_args_vkAllocateCommandBuffers *a = made ? made->args : NULL;
    const struct vkr_scene_object *pool =
        a ? VKR_SCENE_FIND(scene, VkCommandPool, a->pAllocateInfo->commandPool) : NULL;

    return pool ? ((const struct vk_args_vkCreateCommandPool *)pool->args)
                      ->pCreateInfo->queueFamilyIndex
                : 0;
}

static int allocate(struct cut *cut, VkCommandBufferLevel level, VkCommandBuffer *out)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = cut->r->inspect->cut_pool,
                                        .level = level,
                                        .commandBufferCount = 1};
    VkResult result =
        functions(cut)->vkAllocateCommandBuffers(cut->device->dispatch.device, &info, out);

    return result >= 0 ? 0 : vkr_fail("vkAllocateCommandBuffers", result);
}

static int record_anew(struct cut *cut, VkCommandBuffer *out)
{
    struct vkr_inspect *look = cut->r->inspect;
    uint64_t primary = look->primary ? look->primary : look->command_buffer;
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = family_of(cut->scene, primary)};
    VkResult result = functions(cut)->vkCreateCommandPool(cut->device->dispatch.device, &info, NULL,
                                                          &look->cut_pool);
    int error = result >= 0 ? 0 : vkr_fail("vkCreateCommandPool", result);

    if (!error)
        look->cut_device = cut->device;
    if (!error && look->primary) {
        error = allocate(cut, VK_COMMAND_BUFFER_LEVEL_SECONDARY, &cut->secondary);
        if (!error)
            error = record_until(cut, cut->secondary, look->command_buffer, look->wanted->dump_seq);
    }
    if (!error)
        error = allocate(cut, VK_COMMAND_BUFFER_LEVEL_PRIMARY, out);
    return error ? error
                 : record_until(cut, *out, primary,
                                look->primary ? look->execute_seq : look->wanted->dump_seq);
}

/* ---- the submit -------------------------------------------------------------------------- */

bool vkr_partial_submit_wanted(const struct vkr_call *c)
{
    const struct vkr_inspect *look = c->r->inspect;

    return look && look->is_command && look->submit_seq == c->record->seq;
}

static uint64_t cut_buffer(const struct vkr_inspect *look)
{
    return look->primary ? look->primary : look->command_buffer;
}

struct vkr_submit_end vkr_partial_submit_end(const struct vkr_call *c)
{
    const struct vkr_inspect *look = c->r->inspect;

    if (!vkr_partial_submit_wanted(c))
        return (struct vkr_submit_end){0};
    if (!look->primary)
        return (struct vkr_submit_end){look->command_buffer, {.seq = look->wanted->dump_seq}};
    return (struct vkr_submit_end){
        look->primary, {look->execute_seq, look->command_buffer, look->wanted->dump_seq}};
}

/* Ends the batch that has the command buffer after it, without signals. Returns false for other
 * batches. */
static bool cut_batch(VkSubmitInfo *info, VkCommandBuffer from, VkCommandBuffer to)
{
    VkCommandBuffer *list = (VkCommandBuffer *)(uintptr_t)info->pCommandBuffers; /* our arena */

    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        if (list[i] == from) {
            list[i] = to;
            info->commandBufferCount = i + 1;
            info->signalSemaphoreCount = 0;
            vk_chain_remove(&info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO);
            return true;
        }
    return false;
}

static bool cut_batch2(VkSubmitInfo2 *info, VkCommandBuffer from, VkCommandBuffer to)
{
    VkCommandBufferSubmitInfo *list =
        (VkCommandBufferSubmitInfo *)(uintptr_t)info->pCommandBufferInfos; /* our arena */

    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
        if (list[i].commandBuffer == from) {
            list[i].commandBuffer = to;
            info->commandBufferInfoCount = i + 1;
            info->signalSemaphoreInfoCount = 0;
            return true;
        }
    return false;
}

static void cut_args(struct vkr_call *c, VkCommandBuffer from, VkCommandBuffer to)
{
    struct vk_args_vkQueueSubmit *a = (void *)c->args;
    struct vk_args_vkQueueSubmit2 *b = (void *)c->args;

    if (c->record->type == TYPE_vkQueueSubmit) {
        a->fence = VK_NULL_HANDLE;
        for (uint32_t i = 0; i < a->submitCount; i++)
            if (cut_batch((VkSubmitInfo *)(uintptr_t)&a->pSubmits[i], from, to))
                a->submitCount = i + 1;
        return;
    }
    b->fence = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < b->submitCount; i++)
        if (cut_batch2((VkSubmitInfo2 *)(uintptr_t)&b->pSubmits[i], from, to))
            b->submitCount = i + 1;
}

int vkr_partial_submit(struct vkr_call *c)
{
    struct vkr_inspect *look = c->r->inspect;
    struct cut cut = {.r = c->r, .device = c->owner ? c->owner->device : NULL};
    const struct vkr_object *primary =
        vkr_object_find(c->r, VK_OBJECT_VkCommandBuffer, cut_buffer(look));
    VkCommandBuffer anew = VK_NULL_HANDLE;
    int error;

    if (!cut.device || !primary)
        return tsm_fail(TSM_E_FORMAT, "belongs to no device that is there");
    error = vkr_scene_create(&look->scene, c->r, c->record->seq);
    if (error)
        return error;
    cut.scene = look->scene;
    error = record_anew(&cut, &anew);
    if (error)
        return error;
    cut_args(c, (VkCommandBuffer)(uintptr_t)primary->raw, anew);
    return vkr_call_driver(c);
}
