/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/submit.h"

#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"

enum { FIRST = 1, SECOND, SPARSE }; /* kinds */

bool vk_is_submit(uint32_t type)
{
    return type == TYPE_vkQueueSubmit || type == TYPE_vkQueueSubmit2 ||
           type == TYPE_vkQueueSubmit2KHR;
}

bool vk_submit_of(struct vk_submit *out, uint32_t type, const void *args)
{
    const struct vk_args_vkQueueSubmit *a = args;
    const struct vk_args_vkQueueSubmit2 *b = args;
    const struct vk_args_vkQueueBindSparse *s = args;

    switch (type) {
    case TYPE_vkQueueSubmit:
        *out = (struct vk_submit){a->pSubmits, a->submitCount, FIRST, a->queue, a->fence};
        return true;
    case TYPE_vkQueueSubmit2:
    case TYPE_vkQueueSubmit2KHR:
        *out = (struct vk_submit){b->pSubmits, b->submitCount, SECOND, b->queue, b->fence};
        return true;
    case TYPE_vkQueueBindSparse:
        *out = (struct vk_submit){s->pBindInfo, s->bindInfoCount, SPARSE, s->queue, s->fence};
        return true;
    default:
        *out = (struct vk_submit){0};
        return false;
    }
}

static const VkTimelineSemaphoreSubmitInfo *values_of(const void *chain)
{
    const VkBaseInStructure *s = chain;

    while (s && s->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
        s = s->pNext;
    return (const void *)s;
}

struct vk_batch vk_submit_batch(const struct vk_submit *submit, uint32_t i)
{
    struct vk_batch out = {.kind = submit->kind};

    if (submit->kind == FIRST) {
        const VkSubmitInfo *s = (const VkSubmitInfo *)submit->infos + i;
        out.info = s;
        out.values = values_of(s->pNext);
        out.buffer_count = s->commandBufferCount;
        out.wait_count = s->waitSemaphoreCount;
        out.signal_count = s->signalSemaphoreCount;
    } else if (submit->kind == SECOND) {
        const VkSubmitInfo2 *s = (const VkSubmitInfo2 *)submit->infos + i;
        out.info = s;
        out.buffer_count = s->commandBufferInfoCount;
        out.wait_count = s->waitSemaphoreInfoCount;
        out.signal_count = s->signalSemaphoreInfoCount;
    } else {
        const VkBindSparseInfo *s = (const VkBindSparseInfo *)submit->infos + i;
        out.info = s;
        out.values = values_of(s->pNext);
        out.wait_count = s->waitSemaphoreCount;
        out.signal_count = s->signalSemaphoreCount;
    }
    return out;
}

VkCommandBuffer vk_batch_buffer(const struct vk_batch *batch, uint32_t i)
{
    if (batch->kind == FIRST)
        return ((const VkSubmitInfo *)batch->info)->pCommandBuffers[i];
    return ((const VkSubmitInfo2 *)batch->info)->pCommandBufferInfos[i].commandBuffer;
}

static struct vk_batch_semaphore first(const VkSemaphore *list, const uint64_t *values,
                                       uint32_t value_count, uint32_t i)
{
    return (struct vk_batch_semaphore){list[i], values && i < value_count ? values[i] : 0,
                                       VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static struct vk_batch_semaphore second(const VkSemaphoreSubmitInfo *info)
{
    return (struct vk_batch_semaphore){info->semaphore, info->value, info->stageMask};
}

struct vk_batch_semaphore vk_batch_wait(const struct vk_batch *batch, uint32_t i)
{
    static const VkTimelineSemaphoreSubmitInfo none;
    const VkTimelineSemaphoreSubmitInfo *t = batch->values ? batch->values : &none;

    if (batch->kind == SECOND)
        return second(&((const VkSubmitInfo2 *)batch->info)->pWaitSemaphoreInfos[i]);
    return first(batch->kind == FIRST ? ((const VkSubmitInfo *)batch->info)->pWaitSemaphores
                                      : ((const VkBindSparseInfo *)batch->info)->pWaitSemaphores,
                 t->pWaitSemaphoreValues, t->waitSemaphoreValueCount, i);
}

struct vk_batch_semaphore vk_batch_signal(const struct vk_batch *batch, uint32_t i)
{
    static const VkTimelineSemaphoreSubmitInfo none;
    const VkTimelineSemaphoreSubmitInfo *t = batch->values ? batch->values : &none;

    if (batch->kind == SECOND)
        return second(&((const VkSubmitInfo2 *)batch->info)->pSignalSemaphoreInfos[i]);
    return first(batch->kind == FIRST ? ((const VkSubmitInfo *)batch->info)->pSignalSemaphores
                                      : ((const VkBindSparseInfo *)batch->info)->pSignalSemaphores,
                 t->pSignalSemaphoreValues, t->signalSemaphoreValueCount, i);
}

bool vk_submit_each_buffer(const struct vk_submit *submit,
                           bool (*visit)(void *user, VkCommandBuffer buffer), void *user)
{
    for (uint32_t i = 0; i < submit->count; i++) {
        const struct vk_batch batch = vk_submit_batch(submit, i);
        for (uint32_t k = 0; k < batch.buffer_count; k++)
            if (!visit(user, vk_batch_buffer(&batch, k)))
                return false;
    }
    return true;
}

struct vk_submit vk_submit_part(const struct vk_submit *submit, uint32_t from, uint32_t to,
                                VkFence fence)
{
    struct vk_submit out = *submit;

    out.infos = submit->kind == FIRST ? (const void *)((const VkSubmitInfo *)submit->infos + from)
                : submit->kind == SECOND
                    ? (const void *)((const VkSubmitInfo2 *)submit->infos + from)
                    : (const void *)((const VkBindSparseInfo *)submit->infos + from);
    out.count = to - from;
    out.fence = fence;
    return out;
}

void vk_submit_put(const struct vk_submit *submit, void *args)
{
    struct vk_args_vkQueueSubmit *a = args;
    struct vk_args_vkQueueSubmit2 *b = args;
    struct vk_args_vkQueueBindSparse *s = args;

    if (submit->kind == FIRST) {
        a->pSubmits = submit->infos;
        a->submitCount = submit->count;
        a->fence = submit->fence;
    } else if (submit->kind == SECOND) {
        b->pSubmits = submit->infos;
        b->submitCount = submit->count;
        b->fence = submit->fence;
    } else {
        s->pBindInfo = submit->infos;
        s->bindInfoCount = submit->count;
        s->fence = submit->fence;
    }
}

void vk_submit_empty(const struct vk_submit *submit)
{
    for (uint32_t i = 0; i < submit->count; i++)
        if (submit->kind == FIRST)
            ((VkSubmitInfo *)(uintptr_t)submit->infos)[i].commandBufferCount = 0;
        else if (submit->kind == SECOND)
            ((VkSubmitInfo2 *)(uintptr_t)submit->infos)[i].commandBufferInfoCount = 0;
}

bool vk_chain_allows_buffers(const void *chain)
{
    const VkBaseInStructure *s = chain;

    for (; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO ||
            s->sType == VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO ||
            s->sType == VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR)
            return false;
    return true;
}
