/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/replay/inspect/bound_state.h"

#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/inspect/json.h"

static struct vkr_bound_state_point *point_at(struct vkr_bound_state *b, VkPipelineBindPoint point)
{
    if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
        return &b->points[2];
    return &b->points[point == VK_PIPELINE_BIND_POINT_COMPUTE];
}

static void bind_sets(struct vkr_bound_state *b, const struct vkr_call *c)
{
    const struct vk_args_vkCmdBindDescriptorSets *a = (const void *)c->args;
    struct vkr_bound_state_point *point = point_at(b, a->pipelineBindPoint);

    for (uint32_t i = 0; i < a->descriptorSetCount && a->firstSet + i < VKR_BOUND_SETS; i++) {
        point->sets[a->firstSet + i] = VKR_RAW(a->pDescriptorSets[i]);
        point->set_seqs[a->firstSet + i] = c->record->seq;
    }
}

static void push_set(struct vkr_bound_state *b, const struct vkr_call *c)
{
    const struct vk_args_vkCmdPushDescriptorSetKHR *a = (const void *)c->args;
    struct vkr_bound_state_point *point = point_at(b, a->pipelineBindPoint);

    if (a->set >= VKR_BOUND_SETS)
        return;
    point->sets[a->set] = 0;
    point->set_seqs[a->set] = c->record->seq;
}

/* The arguments of vkCmdBindVertexBuffers are the first of vkCmdBindVertexBuffers2, too. */
static void bind_vertex(struct vkr_bound_state *b, const struct vkr_call *c)
{
    const struct vk_args_vkCmdBindVertexBuffers *a = (const void *)c->args;

    for (uint32_t i = 0; i < a->bindingCount && a->firstBinding + i < VKR_BOUND_BUFFERS; i++)
        b->vertex[a->firstBinding + i] =
            (struct vkr_bound_state_buffer){VKR_RAW(a->pBuffers[i]), a->pOffsets[i]};
}

static void push(struct vkr_bound_state *b, const struct vk_args_vkCmdPushConstants *a)
{
    if (a->offset > VKR_BOUND_PUSH || a->size > VKR_BOUND_PUSH - a->offset || !a->pValues)
        return;
    memcpy(b->push + a->offset, a->pValues, a->size);
    if (a->offset + a->size > b->push_size)
        b->push_size = a->offset + a->size;
}

static void note_dynamic(struct vkr_bound_state *b, const struct vkr_call *c)
{
    uint32_t i = 0;

    if (strncmp(vk_name(c->command->name), "vkCmdSet", 8) != 0)
        return;
    while (i < b->dynamic_count && b->dynamic[i].type != c->record->type)
        i++;
    if (i == VKR_BOUND_DYNAMIC)
        return;
    b->dynamic[i] = (struct vkr_bound_state_dynamic){c->record->type, c->record->seq};
    if (i == b->dynamic_count)
        b->dynamic_count++;
}

void vkr_bound_state_note(struct vkr_bound_state *b, const struct vkr_call *c)
{
    const struct vk_args_vkCmdBindPipeline *pipeline = (const void *)c->args;
    const struct vk_args_vkCmdBindIndexBuffer *index = (const void *)c->args;

    switch (c->record->type) {
    case TYPE_vkBeginCommandBuffer:
        memset(b, 0, sizeof(*b));
        break;
    case TYPE_vkCmdBindPipeline:
        point_at(b, pipeline->pipelineBindPoint)->pipeline = VKR_RAW(pipeline->pipeline);
        break;
    case TYPE_vkCmdBindDescriptorSets:
        bind_sets(b, c);
        break;
    case TYPE_vkCmdPushDescriptorSetKHR:
        push_set(b, c);
        break;
    case TYPE_vkCmdBindVertexBuffers:
    case TYPE_vkCmdBindVertexBuffers2:
    case TYPE_vkCmdBindVertexBuffers2EXT:
        bind_vertex(b, c);
        break;
    case TYPE_vkCmdBindIndexBuffer:
        b->index = (struct vkr_bound_state_buffer){VKR_RAW(index->buffer), index->offset};
        b->index_type = index->indexType;
        break;
    case TYPE_vkCmdPushConstants:
        push(b, (const void *)c->args);
        break;
    case TYPE_vkCmdBeginRenderPass:
    case TYPE_vkCmdBeginRenderPass2:
    case TYPE_vkCmdBeginRenderPass2KHR:
    case TYPE_vkCmdBeginRendering:
    case TYPE_vkCmdBeginRenderingKHR:
        b->pass_seq = c->record->seq;
        b->subpass = 0;
        break;
    case TYPE_vkCmdNextSubpass:
    case TYPE_vkCmdNextSubpass2:
    case TYPE_vkCmdNextSubpass2KHR:
        b->subpass++;
        break;
    case TYPE_vkCmdEndRenderPass:
    case TYPE_vkCmdEndRenderPass2:
    case TYPE_vkCmdEndRenderPass2KHR:
    case TYPE_vkCmdEndRendering:
    case TYPE_vkCmdEndRenderingKHR:
        b->pass_seq = 0;
        break;
    default:
        note_dynamic(b, c);
    }
}

int vkr_bound_state_point_of(const struct vk_command *command)
{
    const char *name = vk_name(command->name);

    if (strncmp(name, "vkCmdDraw", 9) == 0)
        return 0;
    if (strncmp(name, "vkCmdDispatch", 13) == 0)
        return 1;
    return strncmp(name, "vkCmdTraceRays", 14) == 0 ? 2 : -1;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_buffer(struct tsm_json *j, const char *name, uint32_t binding,
                        const struct vkr_bound_state_buffer *buffer)
{
    tsm_json_put_open(j, name, '{');
    if (!name)
        tsm_json_put_u64(j, "binding", binding);
    vkr_json_id(j, "buffer", VK_OBJECT_VkBuffer, buffer->buffer);
    tsm_json_put_u64(j, "offset", buffer->offset);
    tsm_json_close(j, '}');
}

static void json_sets(const struct vkr_bound_state_point *point, struct tsm_json *j)
{
    tsm_json_put_open(j, "descriptor_sets", '[');
    for (uint32_t i = 0; i < VKR_BOUND_SETS; i++) {
        if (!point->set_seqs[i])
            continue;
        tsm_json_put_open(j, NULL, '{');
        tsm_json_put_u64(j, "set", i);
        vkr_json_id(j, "id", VK_OBJECT_VkDescriptorSet, point->sets[i]); /* null: pushed */
        tsm_json_put_u64(j, "seq", point->set_seqs[i]);
        tsm_json_close(j, '}');
    }
    tsm_json_close(j, ']');
}

static void json_graphics(const struct vkr_bound_state *b, struct tsm_json *j)
{
    tsm_json_put_open(j, "vertex_buffers", '[');
    for (uint32_t i = 0; i < VKR_BOUND_BUFFERS; i++)
        if (b->vertex[i].buffer)
            json_buffer(j, NULL, i, &b->vertex[i]);
    tsm_json_close(j, ']');
    if (b->index.buffer)
        json_buffer(j, "index_buffer", 0, &b->index);
    if (b->pass_seq) {
        tsm_json_put_u64(j, "render_pass_seq", b->pass_seq);
        tsm_json_put_u64(j, "subpass", b->subpass);
    }
    tsm_json_put_open(j, "dynamic_state", '{');
    for (uint32_t i = 0; i < b->dynamic_count; i++)
        tsm_json_put_u64(j, vk_name(vk_command_of(SBT_TYPE_CALL(b->dynamic[i].type))->name),
                         b->dynamic[i].seq);
    tsm_json_close(j, '}');
}

void vkr_bound_state_json(const struct vkr_bound_state *b, int point, struct tsm_json *j)
{
    vkr_json_id(j, "pipeline", VK_OBJECT_VkPipeline, b->points[point].pipeline);
    json_sets(&b->points[point], j);
    tsm_json_put_bytes(j, "push_constants", b->push, b->push_size);
    if (point == 0)
        json_graphics(b, j);
}
