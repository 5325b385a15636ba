/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits that the program waits for in each way that there is, also in ways that tell nothing:
 * each dispatches once. Prints, for each submit, the call that was the first to tell that it had
 * ended.
 */
#include "tests/vulkan/vk_small.h"

static struct small s;
static VkCommandBuffer commands;
static VkSemaphore gate; /* shut until the program opens it: its value is that of the last step */
static uint64_t step;
static const char none[] = "-";

static void with_timelines(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};

    info->pNext = &timeline;
}

static void told_by(const char *call)
{
    printf("%s\n", call);
}

static void open_gate(void)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = gate, .value = ++step};

    TRY(vkSignalSemaphore(s.device, &info));
}

/* Sends the dispatch: behind the gate's next step if `is_gated`, with a fence or a semaphore that
 * comes to `value`, if any. */
static void send(int is_gated, VkFence fence, VkSemaphore semaphore, uint64_t value)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const uint64_t next = step + 1;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = (uint32_t)is_gated,
        .pWaitSemaphoreValues = &next,
        .signalSemaphoreValueCount = semaphore ? 1 : 0,
        .pSignalSemaphoreValues = &value};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &values,
                                 .waitSemaphoreCount = (uint32_t)is_gated,
                                 .pWaitSemaphores = &gate,
                                 .pWaitDstStageMask = &stage,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands,
                                 .signalSemaphoreCount = semaphore ? 1 : 0,
                                 .pSignalSemaphores = &semaphore};

    TRY(vkQueueSubmit(s.queue, 1, &submit, fence));
}

static VkResult await(VkFence fence, uint64_t timeout)
{
    return vkWaitForFences(s.device, 1, &fence, VK_TRUE, timeout);
}

static void by_fences(void)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fences[2];

    for (unsigned i = 0; i < 2; i++)
        TRY(vkCreateFence(s.device, &info, NULL, &fences[i]));
    send(1, fences[0], VK_NULL_HANDLE, 0);
    if (await(fences[0], 1000) != VK_TIMEOUT)
        puts("no timeout");
    open_gate();
    TRY(await(fences[0], UINT64_MAX));
    told_by("vkWaitForFences");
    TRY(vkResetFences(s.device, 1, fences));
    send(0, fences[0], VK_NULL_HANDLE, 0); /* the same one again */
    while (vkGetFenceStatus(s.device, fences[0]) != VK_SUCCESS)
        ;
    told_by("vkGetFenceStatus");
    TRY(vkResetFences(s.device, 1, fences));
    send(0, fences[0], VK_NULL_HANDLE, 0);
    send(1, fences[1], VK_NULL_HANDLE, 0);
    TRY(vkWaitForFences(s.device, 2, fences, VK_FALSE, UINT64_MAX)); /* for any */
    open_gate();
    TRY(vkQueueWaitIdle(s.queue));
    told_by("vkQueueWaitIdle");
    told_by("vkQueueWaitIdle");
    for (unsigned i = 0; i < 2; i++)
        vkDestroyFence(s.device, fences[i], NULL);
}

static void by_semaphores(void)
{
    VkSemaphore semaphore = timeline_make(&s);
    uint64_t value = 0;

    send(0, VK_NULL_HANDLE, semaphore, 10);
    timeline_await(&s, semaphore, 10);
    told_by("vkWaitSemaphores");
    send(0, VK_NULL_HANDLE, semaphore, 1000);
    timeline_await(&s, semaphore, 500); /* it jumps over this */
    TRY(vkGetSemaphoreCounterValue(s.device, semaphore, &value));
    told_by(value == 1000 ? "vkGetSemaphoreCounterValue" : none);
    vkDestroySemaphore(s.device, semaphore, NULL);
}

int main(void)
{
    struct words w;

    small_device = with_timelines;
    small_init(&s, 0);
    words_init(&s, &w);
    gate = timeline_make(&s);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    {
        const VkCommandBufferBeginInfo again = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

        TRY(vkBeginCommandBuffer(commands, &again));
    }
    small_dispatch(&s, commands, small_set(&s, w.buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    by_fences();
    by_semaphores();
    send(0, VK_NULL_HANDLE, VK_NULL_HANDLE, 0);
    TRY(vkDeviceWaitIdle(s.device));
    told_by("vkDeviceWaitIdle");
    vkDestroySemaphore(s.device, gate, NULL);
    words_finish(&s, &w);
    small_finish(&s);
    return 0;
}
