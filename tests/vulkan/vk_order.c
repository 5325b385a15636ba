/* SPDX-License-Identifier: Apache-2.0
 *
 * A program made of a number: `vk_order SEED`. It sends batches that wait for semaphores and signal
 * them, at all stages or at some, and waits in each way that there is: binary semaphores and
 * timelines, whose values may jump, or which it opens itself; fences; the queue; the device.
 */
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>
#include <string.h>

#define STEPS      48u
#define BATCHES    3u /* of a submit, at most */
#define TIMELINES  3u
#define BINARIES   3u
#define FENCES     2u
#define COUNT      (TIMELINES + BINARIES)
#define ALL_STAGES VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT
#define SOME_STAGE VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT

/* Timelines come first. */
struct semaphore {
    VkSemaphore handle;
    uint64_t value; /* that it comes to; of a binary one whether it is signalled */
};

struct batch {
    unsigned wait_count, signal_count;
    VkSemaphoreSubmitInfo waits[COUNT], signals[COUNT];
};

static struct small s;
static struct semaphore semaphores[COUNT];
static VkFence fences[FENCES];
static bool is_sent[FENCES];
static VkSemaphore gate; /* only the host signals it */
static bool has_gate;    /* then there are no binary semaphores: lavapipe hangs with both */
static uint64_t gate_value, number;
static VkCommandBuffer commands;
static PFN_vkQueueSubmit2KHR submit2;

static uint32_t draw(uint32_t below)
{
    number = number * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(number >> 33) % below;
}

static void with_features(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceSynchronization2Features both = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &both,
        .timelineSemaphore = VK_TRUE};
    static const char *const names[] = {VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME};

    info->pNext = &timeline;
    info->enabledExtensionCount = 1;
    info->ppEnabledExtensionNames = names;
}

/* ---- what is sent -----------------------------------------------------------------------------
 */

static void add(VkSemaphoreSubmitInfo *list, unsigned *count, VkSemaphore semaphore, uint64_t value)
{
    list[(*count)++] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                               .semaphore = semaphore,
                                               .value = value,
                                               .stageMask = draw(3) ? ALL_STAGES : SOME_STAGE};
}

static void choose(struct batch *b)
{
    *b = (struct batch){0};
    for (unsigned i = 0; i < (has_gate ? TIMELINES : COUNT); i++) {
        struct semaphore *semaphore = &semaphores[i];
        const bool is_timeline = i < TIMELINES;

        if (semaphore->value && !draw(3)) {
            add(b->waits, &b->wait_count, semaphore->handle,
                is_timeline ? draw((uint32_t)semaphore->value) + 1 : 0);
            semaphore->value *= is_timeline;
        } else if (!draw(3) && (is_timeline || !semaphore->value)) {
            semaphore->value += is_timeline ? draw(3) + 1 : 1;
            add(b->signals, &b->signal_count, semaphore->handle,
                is_timeline ? semaphore->value : 0);
        }
    }
    if (has_gate && !draw(8))
        add(b->waits, &b->wait_count, gate, gate_value + 1);
}

static void send_new(const struct batch *batches, unsigned count, VkFence fence)
{
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    VkSubmitInfo2 infos[BATCHES];

    for (unsigned i = 0; i < count; i++)
        infos[i] = (VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                   .waitSemaphoreInfoCount = batches[i].wait_count,
                                   .pWaitSemaphoreInfos = batches[i].waits,
                                   .commandBufferInfoCount = 1,
                                   .pCommandBufferInfos = &buffer,
                                   .signalSemaphoreInfoCount = batches[i].signal_count,
                                   .pSignalSemaphoreInfos = batches[i].signals};
    TRY(submit2(s.queue, count, infos, fence));
}

/* The older call: stages of signals cannot be said. */
struct lists {
    VkSemaphore waits[COUNT], signals[COUNT];
    uint64_t wait_values[COUNT], signal_values[COUNT];
    VkPipelineStageFlags stages[COUNT];
    VkTimelineSemaphoreSubmitInfo values;
};

static VkSubmitInfo lists_of(struct lists *l, const struct batch *b)
{
    for (unsigned i = 0; i < b->wait_count; i++) {
        l->waits[i] = b->waits[i].semaphore;
        l->wait_values[i] = b->waits[i].value;
        l->stages[i] = (VkPipelineStageFlags)b->waits[i].stageMask;
    }
    for (unsigned i = 0; i < b->signal_count; i++) {
        l->signals[i] = b->signals[i].semaphore;
        l->signal_values[i] = b->signals[i].value;
    }
    l->values =
        (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                        .waitSemaphoreValueCount = b->wait_count,
                                        .pWaitSemaphoreValues = l->wait_values,
                                        .signalSemaphoreValueCount = b->signal_count,
                                        .pSignalSemaphoreValues = l->signal_values};
    return (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &l->values,
                          .waitSemaphoreCount = b->wait_count,
                          .pWaitSemaphores = l->waits,
                          .pWaitDstStageMask = l->stages,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &commands,
                          .signalSemaphoreCount = b->signal_count,
                          .pSignalSemaphores = l->signals};
}

static void send_old(const struct batch *batches, unsigned count, VkFence fence)
{
    struct lists lists[BATCHES];
    VkSubmitInfo infos[BATCHES];

    for (unsigned i = 0; i < count; i++)
        infos[i] = lists_of(&lists[i], &batches[i]);
    TRY(vkQueueSubmit(s.queue, count, infos, fence));
}

static void signal_gate(void)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = gate, .value = ++gate_value};

    TRY(vkSignalSemaphore(s.device, &info));
}

static void send(void)
{
    const unsigned count = draw(BATCHES) + 1, fence = draw(2 * FENCES);
    const bool has_fence = fence < FENCES && !is_sent[fence];
    struct batch batches[BATCHES];

    for (unsigned i = 0; i < count; i++)
        choose(&batches[i]);
    (draw(2) ? send_new : send_old)(batches, count, has_fence ? fences[fence] : VK_NULL_HANDLE);
    if (has_fence)
        is_sent[fence] = true;
    signal_gate();
}

/* ---- what is waited for -----------------------------------------------------------------------
 */

static void await_fence(unsigned fence)
{
    if (!is_sent[fence])
        return;
    if (draw(2))
        TRY(vkWaitForFences(s.device, 1, &fences[fence], VK_TRUE, UINT64_MAX));
    while (vkGetFenceStatus(s.device, fences[fence]) != VK_SUCCESS)
        ;
    TRY(vkResetFences(s.device, 1, &fences[fence]));
    is_sent[fence] = false;
}

static void await(void)
{
    const struct semaphore *timeline = &semaphores[draw(TIMELINES)];
    uint64_t value;

    switch (draw(8)) {
    case 0:
        TRY(vkQueueWaitIdle(s.queue));
        break;
    case 1:
        TRY(vkDeviceWaitIdle(s.device));
        break;
    case 2:
        TRY(vkGetSemaphoreCounterValue(s.device, timeline->handle, &value));
        break;
    case 3:
    case 4:
        await_fence(draw(FENCES));
        break;
    default:
        if (timeline->value)
            timeline_await(&s, timeline->handle, draw((uint32_t)timeline->value) + 1);
        break;
    }
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void make(const struct words *w)
{
    const VkSemaphoreCreateInfo binary = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkCommandBufferBeginInfo again = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

    gate = timeline_make(&s);
    for (unsigned i = 0; i < TIMELINES; i++)
        semaphores[i].handle = timeline_make(&s);
    for (unsigned i = TIMELINES; i < COUNT; i++)
        TRY(vkCreateSemaphore(s.device, &binary, NULL, &semaphores[i].handle));
    for (unsigned i = 0; i < FENCES; i++)
        TRY(vkCreateFence(s.device, &fence, NULL, &fences[i]));
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    TRY(vkBeginCommandBuffer(commands, &again));
    small_dispatch(&s, commands, small_set(&s, w->buffer), 7);
    TRY(vkEndCommandBuffer(commands));
}

int main(int argc, char **argv)
{
    struct words w;

    number = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    has_gate = number % 2;
    small_device = with_features;
    small_init(&s, 0);
    submit2 = (PFN_vkQueueSubmit2KHR)vkGetDeviceProcAddr(s.device, "vkQueueSubmit2KHR");
    words_init(&s, &w);
    make(&w);
    for (unsigned i = 0; i < STEPS; i++)
        if (draw(3))
            send();
        else
            await();
    TRY(vkDeviceWaitIdle(s.device));
    printf("%u\n", words_sum(&w));
    for (unsigned i = 0; i < COUNT; i++)
        vkDestroySemaphore(s.device, semaphores[i].handle, NULL);
    vkDestroySemaphore(s.device, gate, NULL);
    for (unsigned i = 0; i < FENCES; i++)
        vkDestroyFence(s.device, fences[i], NULL);
    words_finish(&s, &w);
    small_finish(&s);
    return 0;
}
