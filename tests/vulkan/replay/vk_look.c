/* SPDX-License-Identifier: Apache-2.0
 *
 * Something to look at: named objects, nested labels, dispatches in primary and secondary command
 * buffers, images of several formats with known colours. Word i of "words" is i; a dispatch with
 * constant c makes 3 x + c of each x.
 */
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>

#define IMAGES 4u

static PFN_vkSetDebugUtilsObjectNameEXT set_name;
static PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
static PFN_vkCmdEndDebugUtilsLabelEXT end_label;

static void find_functions(const struct small *s)
{
    set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
        s->instance, "vkSetDebugUtilsObjectNameEXT");
    begin_label = (PFN_vkCmdBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(
        s->instance, "vkCmdBeginDebugUtilsLabelEXT");
    end_label = (PFN_vkCmdEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(s->instance,
                                                                      "vkCmdEndDebugUtilsLabelEXT");
}

static void name(const struct small *s, VkObjectType type, uint64_t handle, const char *text)
{
    VkDebugUtilsObjectNameInfoEXT info = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, NULL,
                                          type, handle, text};

    TRY(set_name(s->device, &info));
}

static void label(VkCommandBuffer commands, const char *text)
{
    VkDebugUtilsLabelEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                 .pLabelName = text};

    begin_label(commands, &info);
}

/* ---- dispatches -------------------------------------------------------------------------- */

static VkCommandBuffer record(const struct small *s, VkDescriptorSet set)
{
    VkCommandBuffer primary = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkCommandBuffer secondary = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);

    small_begin_secondary(secondary);
    small_dispatch(s, secondary, set, 1);
    small_dispatch(s, secondary, set, 2);
    TRY(vkEndCommandBuffer(secondary));
    small_begin(primary);
    label(primary, "outer");
    small_dispatch(s, primary, set, 7);
    label(primary, "inner");
    vkCmdExecuteCommands(primary, 1, &secondary);
    end_label(primary);
    small_dispatch(s, primary, set, 3);
    end_label(primary);
    TRY(vkEndCommandBuffer(primary));
    name(s, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)primary, "work");
    return primary;
}

/* ---- images ------------------------------------------------------------------------------ */

struct picture {
    VkFormat format;
    VkClearValue value, second; /* of level 0, of level 1 */
};

static const struct picture pictures[IMAGES] = {
    {VK_FORMAT_R8G8B8A8_UNORM,
     {.color = {.float32 = {1, 0, 0, 1}}},
     {.color = {.float32 = {0, 1, 0, 0.2f}}}},
    {VK_FORMAT_R16G16B16A16_SFLOAT,
     {.color = {.float32 = {0.5f, 2, -1, 1}}},
     {.color = {.float32 = {0.25f, 0, 0, 0}}}},
    {VK_FORMAT_R8_UINT, {.color = {.uint32 = {7}}}, {.color = {.uint32 = {9}}}},
    {VK_FORMAT_D32_SFLOAT, {.depthStencil = {0.25f, 0}}, {.depthStencil = {1, 0}}},
};

static VkImage make_image(const struct small *s, VkFormat format, VkDeviceMemory *memory)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {16, 8, 1},
                              .mipLevels = 2,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkImage image;

    TRY(vkCreateImage(s->device, &info, NULL, &image));
    vkGetImageMemoryRequirements(s->device, image, &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(s->device, &allocate, NULL, memory));
    TRY(vkBindImageMemory(s->device, image, *memory, 0));
    return image;
}

static void to_layout(VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                      VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS}};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static void clear(VkCommandBuffer commands, VkImage image, const struct picture *p)
{
    bool is_depth = p->format == VK_FORMAT_D32_SFLOAT;
    VkImageAspectFlags aspect = is_depth ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_COLOR_BIT;

    to_layout(commands, image, aspect, VK_IMAGE_LAYOUT_UNDEFINED,
              VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    for (uint32_t level = 0; level < 2; level++) {
        VkImageSubresourceRange range = {aspect, level, 1, 0, 1};
        const VkClearValue *value = level ? &p->second : &p->value;
        if (is_depth)
            vkCmdClearDepthStencilImage(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                        &value->depthStencil, 1, &range);
        else
            vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                 &value->color, 1, &range);
    }
    to_layout(commands, image, aspect, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
              VK_IMAGE_LAYOUT_GENERAL);
}

static void draw_pictures(const struct small *s)
{
    VkCommandBuffer commands = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkDeviceMemory memory[IMAGES];
    VkImage images[IMAGES];

    small_begin(commands);
    for (uint32_t i = 0; i < IMAGES; i++) {
        images[i] = make_image(s, pictures[i].format, &memory[i]);
        clear(commands, images[i], &pictures[i]);
    }
    name(s, VK_OBJECT_TYPE_IMAGE, (uint64_t)(uintptr_t)images[0], "picture");
    TRY(vkEndCommandBuffer(commands));
    small_run(s, commands);
    for (uint32_t i = 0; i < IMAGES; i++) {
        vkDestroyImage(s->device, images[i], NULL);
        vkFreeMemory(s->device, memory[i], NULL);
    }
}

/* A picture in a secondary command buffer, between two others. */
static void draw_within(const struct small *s)
{
    VkCommandBuffer primary = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkCommandBuffer parts[3];
    VkDeviceMemory memory;
    VkImage image = make_image(s, pictures[0].format, &memory);

    for (uint32_t i = 0; i < 3; i++) {
        parts[i] = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        small_begin_secondary(parts[i]);
        if (i == 1)
            clear(parts[i], image, &pictures[0]);
        if (i == 2)
            to_layout(parts[i], image, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        TRY(vkEndCommandBuffer(parts[i]));
    }
    small_begin(primary);
    vkCmdExecuteCommands(primary, 3, parts);
    TRY(vkEndCommandBuffer(primary));
    small_run(s, primary);
    vkDestroyImage(s->device, image, NULL);
    vkFreeMemory(s->device, memory, NULL);
}

/* The same by vkQueueSubmit2, in the second of two batches. */
static void run2(const struct small *s, VkCommandBuffer commands)
{
    PFN_vkQueueSubmit2KHR submit =
        (PFN_vkQueueSubmit2KHR)vkGetDeviceProcAddr(s->device, "vkQueueSubmit2KHR");
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = commands};
    VkSubmitInfo2 batches[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2},
                                {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                 .commandBufferInfoCount = 1,
                                 .pCommandBufferInfos = &buffer}};

    TRY(submit(s->queue, 2, batches, VK_NULL_HANDLE));
    TRY(vkQueueWaitIdle(s->queue));
}

static void want_synchronization2(VkDeviceCreateInfo *info)
{
    static const char *const names[] = {"VK_KHR_synchronization2"};
    static const VkPhysicalDeviceSynchronization2Features feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};

    info->pNext = &feature;
    info->enabledExtensionCount = 1;
    info->ppEnabledExtensionNames = names;
}

int main(int argc, char **argv)
{
    static const char *const extensions[] = {"VK_EXT_debug_utils"};
    struct small s;
    struct words w;
    VkCommandBuffer commands;

    small_extensions = extensions;
    small_device = want_synchronization2;
    small_init(&s, 0);
    find_functions(&s);
    words_init(&s, &w);
    name(&s, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)w.buffer, "words");
    for (uint32_t i = 0; i < WORDS; i++)
        w.map[i] = i;
    commands = record(&s, small_set(&s, w.buffer));
    small_run(&s, commands);
    printf("%08x\n", words_sum(&w));
    run2(&s, commands);
    printf("%08x\n", words_sum(&w));
    draw_pictures(&s);
    if (argc > 1) /* "within" */
        draw_within(&s);
    words_finish(&s, &w);
    small_finish(&s);
    return 0;
}
