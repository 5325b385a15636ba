/* SPDX-License-Identifier: Apache-2.0
 *
 * Rendering without render passes, and devices as a group. Each mode prints what came out.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>

#define FIND(device, name) ((PFN_##name)vkGetDeviceProcAddr(device, #name))
#define SIDE               32u /* SIDE * SIDE texels are WORDS words */

static void say(const char *what, const struct words *w)
{
    printf("%s %08x %08x %08x\n", what, words_sum(w), w->map[0], w->map[WORDS - 1]);
    fflush(stdout);
}

static VkCommandBuffer buffer_of(const struct small *s, VkCommandBufferLevel level)
{
    return small_command_buffer(s, s->pool, level);
}

static void submit(const struct small *s, const void *chain, uint32_t count,
                   const VkCommandBuffer *commands)
{
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = chain,
                         .commandBufferCount = count,
                         .pCommandBuffers = commands};

    TRY(vkQueueSubmit(s->queue, 1, &info, VK_NULL_HANDLE));
    TRY(vkQueueWaitIdle(s->queue));
}

/* ---- dynamic rendering ---------------------------------------------------------------------- */

static const char *const rendering_names[] = {"VK_KHR_dynamic_rendering"};
static VkPhysicalDeviceDynamicRenderingFeatures rendering_feature = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES,
    .dynamicRendering = VK_TRUE};

static void with_rendering(VkDeviceCreateInfo *info)
{
    info->pNext = &rendering_feature;
    info->enabledExtensionCount = 1;
    info->ppEnabledExtensionNames = rendering_names;
}

struct target {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
};

static const VkImageSubresourceRange all_of_it = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};

static void make_target(const struct small *s, struct target *t)
{
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM,
                                  .subresourceRange = all_of_it};

    t->image = small_image(s, VK_FORMAT_R8G8B8A8_UNORM, SIDE,
                           VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                           &t->memory);
    view.image = t->image;
    TRY(vkCreateImageView(s->device, &view, NULL, &t->view));
}

static void to_layout(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask =
                                        VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                    .oldLayout = from,
                                    .newLayout = to,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = image,
                                    .subresourceRange = all_of_it};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static void begin_rendering(const struct small *s, VkCommandBuffer commands, const struct target *t,
                            VkRenderingFlags flags)
{
    VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                       .imageView = t->view,
                                       .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                       .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                       .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                       .clearValue = {.color = {.float32 = {1, 0, 0, 1}}}};
    VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                            .flags = flags,
                            .renderArea = {{0, 0}, {SIDE, SIDE}},
                            .layerCount = 1,
                            .colorAttachmentCount = 1,
                            .pColorAttachments = &color};

    FIND(s->device, vkCmdBeginRenderingKHR)(commands, &info);
}

/* A rectangle, without any pipeline. */
static void paint(VkCommandBuffer commands, int32_t x, float blue)
{
    VkClearAttachment color = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                               .clearValue = {.color = {.float32 = {0, 0, blue, 1}}}};
    VkClearRect rect = {{{x, 4}, {6, 20}}, 0, 1};

    vkCmdClearAttachments(commands, 1, &color, 1, &rect);
}

/* A secondary command buffer inherits formats, not a render pass. */
static VkCommandBuffer painting(const struct small *s, int32_t x, float blue)
{
    static const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .flags = VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO, .pNext = &rendering};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                      .pInheritanceInfo = &inheritance};
    VkCommandBuffer commands = buffer_of(s, VK_COMMAND_BUFFER_LEVEL_SECONDARY);

    TRY(vkBeginCommandBuffer(commands, &begin));
    paint(commands, x, blue);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

static void copy_out(VkCommandBuffer commands, const struct target *t, const struct words *w)
{
    VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                              .imageExtent = {SIDE, SIDE, 1}};

    to_layout(commands, t->image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
              VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, t->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, w->buffer, 1,
                           &copy);
}

/* One instance of rendering over three command buffers: it is suspended and resumed, and in between
 * a secondary command buffer paints. */
static void dynamic(void)
{
    VkCommandBuffer commands[3], secondary;
    struct target t;
    struct small s;
    struct words w;

    small_device = with_rendering;
    small_init(&s, 0);
    words_init(&s, &w);
    make_target(&s, &t);
    secondary = painting(&s, 14, 0.5f);
    for (uint32_t i = 0; i < 3; i++) {
        commands[i] = buffer_of(&s, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
        small_begin(commands[i]);
        if (i == 0)
            to_layout(commands[i], t.image, VK_IMAGE_LAYOUT_UNDEFINED,
                      VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
        begin_rendering(&s, commands[i], &t,
                        (i < 2 ? VK_RENDERING_SUSPENDING_BIT : 0) |
                            (i > 0 ? VK_RENDERING_RESUMING_BIT : 0) |
                            (i == 1 ? VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT : 0));
        if (i == 1)
            vkCmdExecuteCommands(commands[i], 1, &secondary);
        else
            paint(commands[i], 2 + 12 * (int32_t)i, 1);
        FIND(s.device, vkCmdEndRenderingKHR)(commands[i]);
        if (i == 2)
            copy_out(commands[i], &t, &w);
        TRY(vkEndCommandBuffer(commands[i]));
    }
    submit(&s, NULL, 3, commands);
    say("dynamic", &w);
    vkDestroyImageView(s.device, t.view, NULL);
    vkDestroyImage(s.device, t.image, NULL);
    vkFreeMemory(s.device, t.memory, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- a group -------------------------------------------------------------------------------- */

static struct small group;
static VkPhysicalDevice members[VK_MAX_DEVICE_GROUP_SIZE];
static VkDeviceGroupDeviceCreateInfo group_info = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO, .pPhysicalDevices = members};

static void as_group(VkDeviceCreateInfo *info)
{
    VkPhysicalDeviceGroupProperties first = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES};
    uint32_t count = 1;
    VkResult result = vkEnumeratePhysicalDeviceGroups(group.instance, &count, &first);

    if (result < 0 || !count)
        exit(77);
    memcpy(members, first.physicalDevices, sizeof(members));
    group_info.physicalDeviceCount = first.physicalDeviceCount;
    info->pNext = &group_info;
}

static void masks(void)
{
    static const uint32_t one = 1;
    VkMemoryAllocateFlagsInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_MASK_BIT,
                                        .deviceMask = 1};
    VkDeviceGroupCommandBufferBeginInfo mask = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_COMMAND_BUFFER_BEGIN_INFO, .deviceMask = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .pNext = &mask};
    VkDeviceGroupSubmitInfo where = {.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO,
                                     .commandBufferCount = 1,
                                     .pCommandBufferDeviceMasks = &one};
    VkPeerMemoryFeatureFlags peers = 0;
    VkCommandBuffer commands;
    struct words w;

    small_device = as_group;
    small_init(&group, 0);
    small_memory = &memory;
    words_init(&group, &w);
    small_memory = NULL;
    for (uint32_t i = 0; i < WORDS; i++)
        w.map[i] = i * 17;
    vkGetDeviceGroupPeerMemoryFeatures(group.device, 0, 0, 0, &peers);
    commands = buffer_of(&group, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    TRY(vkBeginCommandBuffer(commands, &begin));
    vkCmdSetDeviceMask(commands, 1);
    small_dispatch(&group, commands, small_set(&group, w.buffer), 23);
    TRY(vkEndCommandBuffer(commands));
    submit(&group, &where, 1, &commands);
    say("group", &w);
    words_finish(&group, &w);
    small_finish(&group);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "dynamic") == 0) {
        dynamic();
    } else if (argc == 2 && strcmp(argv[1], "group") == 0) {
        masks();
    } else {
        fprintf(stderr, "which?\n");
        return 2;
    }
    return 0;
}
