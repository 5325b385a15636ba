/* SPDX-License-Identifier: Apache-2.0
 *
 * vk_rounds COUNT: rounds of work, each of which needs what the one before has left: words in
 * memory, an image's layout, a binary semaphore that is signalled, a counter, an event that is set,
 * a query that is available, a fence. A part of it is a part only with all of that. SIGTERM ends it
 * after the round that it finds.
 */
#include "tests/vulkan/vk_small.h"

#include <signal.h>
#include <string.h>

struct rounds {
    struct small s;
    struct words words, copy;
    VkImage image;
    VkDeviceMemory memory;
    VkSemaphore binary, timeline;
    VkEvent event;
    VkFence fence;
    VkQueryPool queries;
    VkCommandBuffer fixed, commands; /* recorded once; each time again */
    VkDescriptorSet set;
    PFN_vkQueueBeginDebugUtilsLabelEXT begin_label;
    PFN_vkQueueEndDebugUtilsLabelEXT end_label;
};

static void make_image(struct rounds *r)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UINT,
                              .extent = {32, WORDS / 32, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                       VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    TRY(vkCreateImage(r->s.device, &info, NULL, &r->image));
    vkGetImageMemoryRequirements(r->s.device, r->image, &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(r->s.device, &allocate, NULL, &r->memory));
    TRY(vkBindImageMemory(r->s.device, r->image, r->memory, 0));
}

static void make(struct rounds *r)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = 5};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_OCCLUSION,
                                     .queryCount = 2};

    small_init(&r->s, 0);
    words_init(&r->s, &r->words);
    words_init(&r->s, &r->copy);
    memset(r->words.map, 0, WORDS * 4);
    memset(r->copy.map, 0, WORDS * 4);
    make_image(r);
    TRY(vkCreateSemaphore(r->s.device, &semaphore, NULL, &r->binary));
    semaphore.pNext = &type;
    TRY(vkCreateSemaphore(r->s.device, &semaphore, NULL, &r->timeline));
    TRY(vkCreateEvent(r->s.device, &event, NULL, &r->event));
    TRY(vkCreateFence(r->s.device, &fence, NULL, &r->fence));
    TRY(vkCreateQueryPool(r->s.device, &queries, NULL, &r->queries));
    r->commands = small_command_buffer(&r->s, r->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    r->fixed = small_command_buffer(&r->s, r->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    r->set = small_set(&r->s, r->words.buffer);
    small_begin(r->fixed);
    small_dispatch(&r->s, r->fixed, r->set, 11);
    TRY(vkEndCommandBuffer(r->fixed));
    r->begin_label = (PFN_vkQueueBeginDebugUtilsLabelEXT)(void *)vkGetInstanceProcAddr(
        r->s.instance, "vkQueueBeginDebugUtilsLabelEXT");
    r->end_label = (PFN_vkQueueEndDebugUtilsLabelEXT)(void *)vkGetInstanceProcAddr(
        r->s.instance, "vkQueueEndDebugUtilsLabelEXT");
}

static void barrier(const struct rounds *r, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier b = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT,
                              .oldLayout = from,
                              .newLayout = to,
                              .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                              .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                              .image = r->image,
                              .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    vkCmdPipelineBarrier(r->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &b);
}

/* The image as the round before has left it goes to `copy`, the words to the image. */
static void record(const struct rounds *r, uint32_t round)
{
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {32, WORDS / 32, 1}};
    uint32_t query = round % 2;

    TRY(vkResetCommandBuffer(r->commands, 0));
    small_begin(r->commands);
    vkCmdResetQueryPool(r->commands, r->queries, query, 1);
    vkCmdBeginQuery(r->commands, r->queries, query, 0);
    vkCmdEndQuery(r->commands, r->queries, query);
    if (round > 0) {
        vkCmdWaitEvents(r->commands, 1, &r->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, NULL, 0, NULL, 0, NULL);
        vkCmdResetEvent(r->commands, r->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
        vkCmdCopyImageToBuffer(r->commands, r->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                               r->copy.buffer, 1, &region);
    }
    small_dispatch(&r->s, r->commands, r->set, round);
    barrier(r, round > 0 ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_UNDEFINED,
            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(r->commands, r->words.buffer, r->image,
                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    barrier(r, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdSetEvent(r->commands, r->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    TRY(vkEndCommandBuffer(r->commands));
}

static void submit(const struct rounds *r, uint32_t round)
{
    const VkCommandBuffer both[] = {r->fixed, r->commands};
    const VkSemaphore semaphores[] = {r->binary, r->timeline};
    const uint64_t waited[] = {0, 5 + round}, signalled[] = {0, 6 + round};
    const VkPipelineStageFlags stages[] = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = round > 0 ? 2 : 0,
                                            .pWaitSemaphoreValues = waited,
                                            .signalSemaphoreValueCount = 2,
                                            .pSignalSemaphoreValues = signalled};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = round > 0 ? 2 : 0,
                         .pWaitSemaphores = semaphores,
                         .pWaitDstStageMask = stages,
                         .commandBufferCount = 2,
                         .pCommandBuffers = both,
                         .signalSemaphoreCount = 2,
                         .pSignalSemaphores = semaphores};

    TRY(vkQueueSubmit(r->s.queue, 1, &info, r->fence));
}

/* Plays a round and reads what the last round left: also the query, after it was recreated. */
static void play(const struct rounds *r, uint32_t round)
{
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT};
    char name[32];
    uint64_t result;

    if (round > 0) {
        TRY(vkWaitForFences(r->s.device, 1, &r->fence, VK_TRUE, UINT64_MAX));
        TRY(vkResetFences(r->s.device, 1, &r->fence));
        TRY(vkGetQueryPoolResults(r->s.device, r->queries, (round - 1) % 2, 1, sizeof(result),
                                  &result, sizeof(result),
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    }
    if (round % 8 == 0)
        for (uint32_t i = 0; i < WORDS; i++)
            r->words.map[i] += i * (round + 1);
    snprintf(name, sizeof(name), "round %u", round);
    label.pLabelName = name;
    record(r, round);
    if (r->begin_label)
        r->begin_label(r->s.queue, &label);
    submit(r, round);
    if (r->end_label)
        r->end_label(r->s.queue);
}

static void finish(struct rounds *r)
{
    vkDestroyQueryPool(r->s.device, r->queries, NULL);
    vkDestroyFence(r->s.device, r->fence, NULL);
    vkDestroyEvent(r->s.device, r->event, NULL);
    vkDestroySemaphore(r->s.device, r->binary, NULL);
    vkDestroySemaphore(r->s.device, r->timeline, NULL);
    vkDestroyImage(r->s.device, r->image, NULL);
    vkFreeMemory(r->s.device, r->memory, NULL);
    words_finish(&r->s, &r->copy);
    words_finish(&r->s, &r->words);
    small_finish(&r->s);
}

static volatile sig_atomic_t is_enough;

static void set_enough(int signal)
{
    (void)signal;
    is_enough = 1;
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    const char *const labels = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};
    struct rounds r = {0};

    small_extensions = &labels;
    small_features = &timeline;
    signal(SIGTERM, set_enough);
    make(&r);
    for (uint32_t round = 0; round < count && !is_enough; round++)
        play(&r, round);
    TRY(vkDeviceWaitIdle(r.s.device));
    printf("%08x %08x\n", words_sum(&r.words), words_sum(&r.copy));
    finish(&r);
    return 0;
}
