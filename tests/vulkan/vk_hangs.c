/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that hang; each says "hangs" before, and is to be killed: vk_hangs WAY. They have
 * three queues (TS_TEST_DRIVER=queues), of which the driver makes one. WAY:
 *
 *   crossed  two queues, each waits for the value of a timeline that the other one's batch brings
 *   choice   ... and a third queue goes beyond one of these values: only the driver makes it a hang
 *   all      ... and the third one's batch waits, too
 *   behind   one queue: a batch waits for a value that one behind it brings
 *   open     a batch waits for 5, and nothing goes beyond 3
 *   batches  a submit of two batches: the first brings what another queue waits for, the second
 *            waits for that one. On two queues this ends; only the driver makes it a hang
 *   steps    a submit of two batches, which wait for two values of a timeline; the first is there,
 *            the second comes behind the submit
 *   unsent   a batch waits for a value that the host would bring; another one waits for the batch
 *   early    two batches wait for a value that a third brings, which is sent last; the first of
 *            them goes beyond it. On three queues this ends; only the driver makes it a hang
 *   goes_on  the same, and the host brings it: it does not hang
 *   lost     three submits; the driver loses the device in the third (TS_TEST_DRIVER=lost=3)
 *   waited   ... and the first of them has ended, as the program knows
 */
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>
#include <string.h>

enum { QUEUES = 3 };

static struct small s;
static struct words words;
static VkCommandBuffer commands;
static VkQueue queues[QUEUES];
static VkSemaphore x, y;

static void with_queues(VkDeviceCreateInfo *info)
{
    static const float priorities[] = {1, 1};
    static const VkDeviceQueueCreateInfo each[] = {
        {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = 0,
         .queueCount = 1,
         .pQueuePriorities = priorities},
        {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = 1,
         .queueCount = 1,
         .pQueuePriorities = priorities},
        {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = 2,
         .queueCount = 1,
         .pQueuePriorities = priorities}};
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};

    info->pNext = &timeline;
    info->queueCreateInfoCount = QUEUES;
    info->pQueueCreateInfos = each;
}

static void wait_for(VkQueue queue, VkSemaphore from, uint64_t value, VkSemaphore to, uint64_t next)
{
    timeline_send(queue, commands, from, value, to, next);
}

static void send_plain(VkQueue queue, VkFence fence)
{
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands};

    if (vkQueueSubmit(queue, 1, &submit, fence) == VK_ERROR_DEVICE_LOST)
        puts("lost");
}

static void signal_on(VkQueue queue, VkSemaphore to, uint64_t value)
{
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &values,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands,
                                 .signalSemaphoreCount = 1,
                                 .pSignalSemaphores = &to};

    TRY(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
}

/* The first batch brings `to` to 1, the second waits until `from` is 1. */
static void send_batches(VkQueue queue, VkSemaphore from, VkSemaphore to)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    static const uint64_t one = 1;
    const VkTimelineSemaphoreSubmitInfo values[] = {
        {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .signalSemaphoreValueCount = 1,
         .pSignalSemaphoreValues = &one},
        {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .waitSemaphoreValueCount = 1,
         .pWaitSemaphoreValues = &one}};
    const VkSubmitInfo submits[] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .pNext = &values[0],
                                     .commandBufferCount = 1,
                                     .pCommandBuffers = &commands,
                                     .signalSemaphoreCount = 1,
                                     .pSignalSemaphores = &to},
                                    {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .pNext = &values[1],
                                     .waitSemaphoreCount = 1,
                                     .pWaitSemaphores = &from,
                                     .pWaitDstStageMask = &stage,
                                     .commandBufferCount = 1,
                                     .pCommandBuffers = &commands}};

    TRY(vkQueueSubmit(queue, 2, submits, VK_NULL_HANDLE));
}

/* Its batches wait until `from` is 3, which the host brings, and 5; then `to` comes to 1. */
static void send_steps(VkQueue queue, VkSemaphore from, VkSemaphore to)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    static const uint64_t one = 1, steps[] = {3, 5};
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = from, .value = 3};
    VkTimelineSemaphoreSubmitInfo values[2];
    VkSubmitInfo submits[2];

    for (unsigned i = 0; i < 2; i++) {
        values[i] = (VkTimelineSemaphoreSubmitInfo){
            .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
            .waitSemaphoreValueCount = 1,
            .pWaitSemaphoreValues = &steps[i],
            .signalSemaphoreValueCount = i,
            .pSignalSemaphoreValues = &one};
        submits[i] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                    .pNext = &values[i],
                                    .waitSemaphoreCount = 1,
                                    .pWaitSemaphores = &from,
                                    .pWaitDstStageMask = &stage,
                                    .commandBufferCount = 1,
                                    .pCommandBuffers = &commands,
                                    .signalSemaphoreCount = i,
                                    .pSignalSemaphores = &to};
    }
    TRY(vkQueueSubmit(queue, 2, submits, VK_NULL_HANDLE));
    TRY(vkSignalSemaphore(s.device, &info));
}

static void send(const char *way)
{
    if (!strcmp(way, "crossed") || !strcmp(way, "choice")) {
        wait_for(queues[0], x, 1, y, 1);
        wait_for(queues[1], y, 1, x, 1);
        if (!strcmp(way, "choice"))
            signal_on(queues[2], x, 2);
    } else if (!strcmp(way, "behind")) {
        wait_for(queues[0], x, 7, y, 1);
        signal_on(queues[0], x, 7);
    } else if (!strcmp(way, "open")) {
        signal_on(queues[0], x, 3);
        timeline_await(&s, x, 3);
        wait_for(queues[1], x, 5, y, 1);
        wait_for(queues[0], y, 1, y, 2);
    } else if (!strcmp(way, "all")) {
        wait_for(queues[0], x, 1, y, 1);
        wait_for(queues[1], y, 1, x, 1);
        wait_for(queues[2], y, 1, x, 2);
    } else if (!strcmp(way, "early")) {
        wait_for(queues[0], y, 1, y, 2);
        wait_for(queues[1], y, 1, x, 1);
        signal_on(queues[2], y, 1);
    } else if (!strcmp(way, "steps")) {
        wait_for(queues[1], y, 1, x, 5);
        send_steps(queues[0], x, y);
    } else if (!strcmp(way, "batches")) {
        send_batches(queues[0], x, y);
        wait_for(queues[1], y, 1, x, 1);
    } else {
        wait_for(queues[0], x, 2, y, 1);
        wait_for(queues[1], y, 1, y, 2);
    }
}

static void lose(bool is_waited)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;

    TRY(vkCreateFence(s.device, &info, NULL, &fence));
    send_plain(queues[0], fence);
    if (is_waited)
        small_await(&s, fence);
    send_plain(queues[0], VK_NULL_HANDLE);
    send_plain(queues[0], VK_NULL_HANDLE);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    small_device = with_queues;
    small_init(&s, 0);
    words_init(&s, &words);
    for (uint32_t i = 0; i < QUEUES; i++)
        vkGetDeviceQueue(s.device, i, 0, &queues[i]);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    {
        const VkCommandBufferBeginInfo again = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

        TRY(vkBeginCommandBuffer(commands, &again));
    }
    small_dispatch(&s, commands, small_set(&s, words.buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    x = timeline_make(&s);
    y = timeline_make(&s);
    if (!strcmp(argv[1], "lost") || !strcmp(argv[1], "waited")) {
        lose(argv[1][0] == 'w');
        return 0;
    }
    send(argv[1]);
    puts("hangs");
    fflush(stdout);
    if (!strcmp(argv[1], "goes_on")) {
        const VkSemaphoreSignalInfo info = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = x, .value = 2};

        TRY(vkSignalSemaphore(s.device, &info));
    }
    TRY(vkDeviceWaitIdle(s.device));
    return 0;
}
