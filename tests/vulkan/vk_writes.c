/* SPDX-License-Identifier: Apache-2.0
 *
 * Each way in which a command writes into memory, by a submit of its own, which is waited for and
 * leaves something that was not there before. The memory is of the first type that the device has,
 * and is never mapped. Prints how many submits there were.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>

#define SIDE 32u /* of the images: as many texels as a buffer has words */

static struct small s;
static struct words words[2];
static VkImage images[2];
static uint32_t sent, value = 1;

static void *load(const char *name)
{
    return (void *)(uintptr_t)vkGetDeviceProcAddr(s.device, name);
}

/* ---- objects -------------------------------------------------------------------------------- */

static VkDeviceMemory allocate(VkMemoryRequirements needs)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs.size};
    VkDeviceMemory memory;

    if (!(needs.memoryTypeBits & 1))
        exit(77);
    TRY(vkAllocateMemory(s.device, &info, NULL, &memory));
    return memory;
}

static void make_buffer(struct words *w)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = WORDS * 4,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;

    TRY(vkCreateBuffer(s.device, &info, NULL, &w->buffer));
    vkGetBufferMemoryRequirements(s.device, w->buffer, &needs);
    w->memory = allocate(needs);
    TRY(vkBindBufferMemory(s.device, w->buffer, w->memory, 0));
}

static void make_image(VkImage *out)
{
    VkDeviceMemory memory;

    *out = small_image(&s, VK_FORMAT_R8G8B8A8_UNORM, SIDE,
                       VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, &memory);
}

/* ---- submits -------------------------------------------------------------------------------- */

static VkCommandBuffer begin(void)
{
    VkCommandBuffer commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(commands);
    return commands;
}

static void run(VkCommandBuffer commands)
{
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    sent++;
}

static void to_general(VkImage image)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkClearColorValue color = {.uint32 = {value}};
    VkCommandBuffer commands = begin();

    color.float32[0] = (float)value++ / 64;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
    vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, &color, 1,
                         &barrier.subresourceRange);
    run(commands);
}

static void fill_first(void)
{
    VkCommandBuffer commands = begin();

    vkCmdFillBuffer(commands, words[0].buffer, 0, WORDS * 4, 0x01010101 * value++);
    run(commands);
}

static void transfers(void)
{
    static uint32_t data[16];
    const VkBufferCopy all = {.size = WORDS * 4};
    VkCommandBuffer commands;

    fill_first();
    data[5] = value++;
    commands = begin();
    vkCmdUpdateBuffer(commands, words[1].buffer, 128, sizeof(data), data);
    run(commands);
    commands = begin();
    vkCmdCopyBuffer(commands, words[0].buffer, words[1].buffer, 1, &all);
    run(commands);
}

static void image_transfers(void)
{
    const VkImageSubresourceLayers layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkBufferImageCopy part = {.imageSubresource = layer, .imageExtent = {SIDE, SIDE, 1}};
    const VkImageCopy copy = {
        .srcSubresource = layer, .dstSubresource = layer, .extent = {SIDE, SIDE, 1}};
    const VkImageBlit blit = {.srcSubresource = layer,
                              .srcOffsets = {{0, 0, 0}, {SIDE, SIDE, 1}},
                              .dstSubresource = layer,
                              .dstOffsets = {{0, 0, 0}, {SIDE, SIDE, 1}}};
    const VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
    VkCommandBuffer commands = begin();

    vkCmdCopyImageToBuffer(commands, images[0], general, words[1].buffer, 1, &part);
    run(commands);
    fill_first();
    commands = begin();
    vkCmdCopyBufferToImage(commands, words[0].buffer, images[0], general, 1, &part);
    run(commands);
    commands = begin();
    vkCmdCopyImage(commands, images[0], general, images[1], general, 1, &copy);
    run(commands);
    to_general(images[0]);
    commands = begin();
    vkCmdBlitImage(commands, images[0], general, images[1], general, 1, &blit, VK_FILTER_NEAREST);
    run(commands);
}

static void queries(void)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_OCCLUSION,
                                  .queryCount = 1};
    VkCommandBuffer commands = begin();
    VkQueryPool pool;

    TRY(vkCreateQueryPool(s.device, &info, NULL, &pool));
    vkCmdResetQueryPool(commands, pool, 0, 1);
    vkCmdCopyQueryPoolResults(commands, pool, 0, 1, words[1].buffer, 256, 8,
                              VK_QUERY_RESULT_PARTIAL_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    run(commands); /* zeros, over what lay there */
}

static void dispatches(void)
{
    VkCommandBuffer inner = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    VkDescriptorSet set = small_set(&s, words[0].buffer);
    VkCommandBuffer commands = begin();

    small_dispatch(&s, commands, set, value++);
    run(commands);
    small_begin_secondary(inner);
    small_dispatch(&s, inner, set, value++);
    TRY(vkEndCommandBuffer(inner));
    commands = begin();
    vkCmdExecuteCommands(commands, 1, &inner);
    run(commands);
}

/* ---- descriptors that are pushed ------------------------------------------------------------- */

static void push(VkCommandBuffer commands, const VkDescriptorBufferInfo *what)
{
    PFN_vkCmdPushDescriptorSetKHR push_set =
        (PFN_vkCmdPushDescriptorSetKHR)(uintptr_t)load("vkCmdPushDescriptorSetKHR");
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = what};

    if (!push_set)
        exit(77);
    push_set(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s.layout, 0, 1, &write);
}

static void pushed(void)
{
    const VkDescriptorBufferInfo what = {words[0].buffer, 0, VK_WHOLE_SIZE};
    VkCommandBuffer commands = begin();

    push(commands, &what);
    small_dispatch(&s, commands, VK_NULL_HANDLE, value++);
    run(commands);
}

int main(int argc, char **argv)
{
    int pushes = argc > 1 && strcmp(argv[1], "push") == 0;

    small_init(&s, pushes);
    for (int i = 0; i < 2; i++) {
        make_buffer(&words[i]);
        make_image(&images[i]);
    }
    if (pushes) {
        fill_first();
        pushed();
    } else {
        to_general(images[0]);
        to_general(images[1]);
        transfers();
        image_transfers();
        queries();
        dispatches();
    }
    TRY(vkDeviceWaitIdle(s.device));
    printf("%u submits\n", sent);
    return 0;
}
