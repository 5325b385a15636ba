/* SPDX-License-Identifier: Apache-2.0 -- all calls that submit say the same of the same batches. */
#include "api/vulkan/tables/submit.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"
#include "tests/unit/check.h"

#define COUNT 2u

static bool add_to(void *user, VkCommandBuffer buffer)
{
    uint64_t *sum = user;

    *sum = *sum * 10 + (uint64_t)(uintptr_t)buffer;
    return *sum < 100;
}

/* Two batches: buffers 1 2, then 3; waits 7 for the value 70, signals 8 (80) and the binary 9. */
static void check(const struct vk_submit *s, bool has_buffers)
{
    struct vk_batch batch = vk_submit_batch(s, 0);
    uint64_t sum = 0;

    CHECK_EQ_INT(s->count, COUNT);
    CHECK_EQ_INT(batch.wait_count, 1);
    CHECK_EQ_INT(batch.signal_count, 2);
    CHECK_EQ_INT((uint64_t)vk_batch_wait(&batch, 0).semaphore, 7);
    CHECK_EQ_INT(vk_batch_wait(&batch, 0).value, 70);
    CHECK_EQ_INT(vk_batch_signal(&batch, 0).value, 80);
    CHECK_EQ_INT((uint64_t)vk_batch_signal(&batch, 1).semaphore, 9);
    CHECK_EQ_INT(vk_batch_signal(&batch, 1).value, 0);
    CHECK_EQ_INT(vk_batch_signal(&batch, 1).stages, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    CHECK_EQ_INT(vk_submit_batch(s, 1).wait_count, 0);
    vk_submit_each_buffer(s, add_to, &sum);
    CHECK_EQ_INT(sum, has_buffers ? 123 : 0);
    vk_submit_empty(s);
    sum = 0;
    CHECK(vk_submit_each_buffer(s, add_to, &sum));
    CHECK_EQ_INT(sum, 0);
}

static const VkSemaphore waits[] = {(VkSemaphore)7}, signals[] = {(VkSemaphore)8, (VkSemaphore)9};
static const uint64_t wait_values[] = {70}, signal_values[] = {80};
/* Fewer values than semaphores, after another struct. */
static const VkTimelineSemaphoreSubmitInfo values = {
    VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, NULL, 1, wait_values, 1, signal_values};
static const VkProtectedSubmitInfo chain = {VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO, &values, 0};

static void check_first(void)
{
    const VkCommandBuffer buffers[] = {(VkCommandBuffer)1, (VkCommandBuffer)2, (VkCommandBuffer)3};
    VkSubmitInfo infos[COUNT] = {{.pNext = &chain,
                                  .waitSemaphoreCount = 1,
                                  .pWaitSemaphores = waits,
                                  .commandBufferCount = 2,
                                  .pCommandBuffers = buffers,
                                  .signalSemaphoreCount = 2,
                                  .pSignalSemaphores = signals},
                                 {.commandBufferCount = 1, .pCommandBuffers = buffers + 2}};
    struct vk_args_vkQueueSubmit args = {.submitCount = COUNT, .pSubmits = infos};
    struct vk_submit s;

    CHECK(vk_submit_of(&s, TYPE_vkQueueSubmit, &args));
    check(&s, true);
}

static void check_second(void)
{
    const VkCommandBufferSubmitInfo buffers[] = {{.commandBuffer = (VkCommandBuffer)1},
                                                 {.commandBuffer = (VkCommandBuffer)2},
                                                 {.commandBuffer = (VkCommandBuffer)3}};
    const VkSemaphoreSubmitInfo wait = {.semaphore = waits[0], .value = 70};
    const VkSemaphoreSubmitInfo signal[] = {
        {.semaphore = signals[0], .value = 80},
        {.semaphore = signals[1], .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT}};
    VkSubmitInfo2 infos[COUNT] = {
        {.waitSemaphoreInfoCount = 1,
         .pWaitSemaphoreInfos = &wait,
         .commandBufferInfoCount = 2,
         .pCommandBufferInfos = buffers,
         .signalSemaphoreInfoCount = 2,
         .pSignalSemaphoreInfos = signal},
        {.commandBufferInfoCount = 1, .pCommandBufferInfos = buffers + 2}};
    struct vk_args_vkQueueSubmit2 args = {.submitCount = COUNT, .pSubmits = infos};
    struct vk_submit s;

    CHECK(vk_submit_of(&s, TYPE_vkQueueSubmit2KHR, &args));
    check(&s, true);
}

static void check_sparse(void)
{
    const VkBindSparseInfo infos[COUNT] = {{.pNext = &chain,
                                            .waitSemaphoreCount = 1,
                                            .pWaitSemaphores = waits,
                                            .signalSemaphoreCount = 2,
                                            .pSignalSemaphores = signals}};
    struct vk_args_vkQueueBindSparse args = {.bindInfoCount = COUNT, .pBindInfo = infos};
    struct vk_submit s;

    CHECK(vk_submit_of(&s, TYPE_vkQueueBindSparse, &args));
    check(&s, false);
}

int main(void)
{
    struct vk_submit s;

    check_first();
    check_second();
    check_sparse();
    CHECK(!vk_submit_of(&s, TYPE_vkQueueWaitIdle, &s));
    CHECK_EQ_INT(s.count, 0);
    CHECK(vk_is_submit(TYPE_vkQueueSubmit2) && !vk_is_submit(TYPE_vkQueueBindSparse));
    return check_result();
}
