/* SPDX-License-Identifier: Apache-2.0
 *
 * vk_first_use COUNT: as many submits, each of which does something to an image before it copies it
 * to memory that is read: overwrites all of it, or part of it, or none. Each image has memory of
 * its own, number 3 that of the first of `uses`; of the last both images.
 */
#include "tests/vulkan/vk_small.h"

#define EDGE 32u

enum use {
    CLEARED,
    COPIED,
    ATTACHED,
    VOIDED,
    HALF,
    PART_ATTACHED,
    LOADED,
    KEPT,
    BOUND,
    LEVEL,
    SHARED
};
#define USES (SHARED + 1u)

struct first {
    struct small s;
    struct words from, to;
    VkImage images[USES + 1];
    VkImageView views[USES];
    VkDeviceMemory memories[USES];
    VkCommandBuffer commands;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkDescriptorSet set; /* with the image of BOUND */
    PFN_vkCmdBeginRenderingKHR begin_rendering;
    PFN_vkCmdEndRenderingKHR end_rendering;
    uint32_t round;
};

static VkImage image_of(const struct first *f, enum use use)
{
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {EDGE, EDGE, 1},
        .mipLevels = use == LEVEL ? 2 : 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_STORAGE_BIT};
    VkImage out;

    TRY(vkCreateImage(f->s.device, &info, NULL, &out));
    return out;
}

static void make_image(struct first *f, enum use use)
{
    VkMemoryRequirements needs;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    view.image = f->images[use] = image_of(f, use);
    vkGetImageMemoryRequirements(f->s.device, f->images[use], &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(f->s.device, &allocate, NULL, &f->memories[use]));
    TRY(vkBindImageMemory(f->s.device, f->images[use], f->memories[use], 0));
    TRY(vkCreateImageView(f->s.device, &view, NULL, &f->views[use]));
    if (use != SHARED)
        return;
    f->images[USES] = image_of(f, use);
    TRY(vkBindImageMemory(f->s.device, f->images[USES], f->memories[use], 0));
}

static void make_set(struct first *f)
{
    VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1,
                                            VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    VkPipelineLayoutCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .setLayoutCount = 1,
                                           .pSetLayouts = &f->set_layout};
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &f->set_layout};
    VkDescriptorImageInfo image = {VK_NULL_HANDLE, f->views[BOUND], VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                  .pImageInfo = &image};

    TRY(vkCreateDescriptorSetLayout(f->s.device, &layout, NULL, &f->set_layout));
    TRY(vkCreatePipelineLayout(f->s.device, &pipeline, NULL, &f->layout));
    TRY(vkCreateDescriptorPool(f->s.device, &info, NULL, &allocate.descriptorPool));
    TRY(vkAllocateDescriptorSets(f->s.device, &allocate, &f->set));
    write.dstSet = f->set;
    vkUpdateDescriptorSets(f->s.device, 1, &write, 0, NULL);
}

/* ---- what is done to them ---------------------------------------------------------------- */

static void barrier(const struct first *f, VkImage image, VkImageLayout from)
{
    VkImageMemoryBarrier b = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0, 1}};

    vkCmdPipelineBarrier(f->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &b);
}

static void clear(const struct first *f, VkImage image, uint32_t levels)
{
    VkClearColorValue color = {.float32 = {(float)f->round / 16, 0.5f, 1, 1}};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, levels, 0, 1};

    vkCmdClearColorImage(f->commands, image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
}

static void copy_in(const struct first *f, VkImage image, uint32_t height)
{
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {EDGE, height, 1}};

    vkCmdCopyBufferToImage(f->commands, f->from.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
}

static void attach(const struct first *f, VkImageView view, VkAttachmentLoadOp op, uint32_t width)
{
    VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = view,
        .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
        .loadOp = op,
        .clearValue.color.float32 = {0.25f, (float)f->round / 16, 0, 1}};
    VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                            .renderArea = {{0, 0}, {width, EDGE}},
                            .layerCount = 1,
                            .colorAttachmentCount = 1,
                            .pColorAttachments = &color};

    f->begin_rendering(f->commands, &info);
    f->end_rendering(f->commands);
}

static void touch(const struct first *f, enum use use)
{
    VkImage image = f->images[use];

    if (use == VOIDED)
        barrier(f, image, VK_IMAGE_LAYOUT_UNDEFINED);
    if (use == BOUND)
        vkCmdBindDescriptorSets(f->commands, VK_PIPELINE_BIND_POINT_COMPUTE, f->layout, 0, 1,
                                &f->set, 0, NULL);
    if (use == CLEARED || use == VOIDED || use == BOUND || use == LEVEL || use == SHARED)
        clear(f, image, 1);
    else if (use == COPIED || use == HALF)
        copy_in(f, image, use == HALF ? EDGE / 2 : EDGE);
    else if (use != KEPT)
        attach(f, f->views[use],
               use == LOADED ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
               use == PART_ATTACHED ? EDGE / 2 : EDGE);
}

static void copy_out(const struct first *f, enum use use)
{
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, use == LEVEL, 0, 1},
                                .imageExtent = {EDGE >> (use == LEVEL), EDGE >> (use == LEVEL), 1}};

    vkCmdCopyImageToBuffer(f->commands, f->images[use], VK_IMAGE_LAYOUT_GENERAL, f->to.buffer, 1,
                           &region);
}

static void run(struct first *f, enum use use)
{
    small_begin(f->commands);
    if (f->round == 0) { /* something to be kept */
        barrier(f, f->images[use], VK_IMAGE_LAYOUT_UNDEFINED);
        clear(f, f->images[use], VK_REMAINING_MIP_LEVELS);
        if (use == SHARED)
            barrier(f, f->images[USES], VK_IMAGE_LAYOUT_UNDEFINED);
    }
    touch(f, use);
    copy_out(f, use);
    TRY(vkEndCommandBuffer(f->commands));
    small_run(&f->s, f->commands);
    printf("%08x\n", words_sum(&f->to));
}

static void want_rendering(VkDeviceCreateInfo *info)
{
    static const char *const names[] = {"VK_KHR_dynamic_rendering"};
    static const VkPhysicalDeviceDynamicRenderingFeatures feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES,
        .dynamicRendering = VK_TRUE};

    info->pNext = &feature;
    info->enabledExtensionCount = 1;
    info->ppEnabledExtensionNames = names;
}

int main(int argc, char **argv)
{
    struct first f = {0};

    small_device = want_rendering;
    small_init(&f.s, 0);
    f.begin_rendering =
        (PFN_vkCmdBeginRenderingKHR)vkGetDeviceProcAddr(f.s.device, "vkCmdBeginRenderingKHR");
    f.end_rendering =
        (PFN_vkCmdEndRenderingKHR)vkGetDeviceProcAddr(f.s.device, "vkCmdEndRenderingKHR");
    words_init(&f.s, &f.from);
    words_init(&f.s, &f.to);
    for (unsigned i = 0; i < USES; i++)
        make_image(&f, (enum use)i);
    make_set(&f);
    f.commands = small_command_buffer(&f.s, f.s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
        for (uint32_t j = 0; j < WORDS; j++)
            f.from.map[j] = j * 2654435761u + (uint32_t)i;
        run(&f, (enum use)(i % (int)USES));
        f.round += i % (int)USES == (int)USES - 1;
    }
    return 0;
}
