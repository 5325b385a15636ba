/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits with barriers, as its arguments say: `vk_barriers SUBMIT...`. Each submit is a word:
 *
 *   D C F U     a dispatch, a copy, a fill, an update of a buffer
 *   R           a pass without draws
 *   P S         the same with a barrier for the pass alone, in it or in a secondary command buffer
 *   bXY         vkCmdPipelineBarrier from stages X to Y, letters of `stages`
 *   B2XYZW      vkCmdPipelineBarrier2 with two barriers, from X to Y and from Z to W
 *   (...)       the same in a secondary command buffer
 *   ; ,         the next command buffer; the next batch
 *   =           what the submit before did, again
 *   W           no submit: the program waits for the queue
 *   X           the program ends, and waits for nothing
 */
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define BUFFERS_MAX 16u /* of a submit */
#define SIDE        16u

static const struct {
    char letter;
    VkPipelineStageFlags2 flags;
} stages[] = {
    {'a', VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
    {'c', VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT},
    {'t', VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT},
    {'x', VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT},
    {'p', VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT},
    {'e', VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT},
    {'h', VK_PIPELINE_STAGE_2_HOST_BIT},
    {'g', VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT},
    {'v', VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT},
    {'f', VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT},
    {'o', VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT},
    /* of the newer call alone: */
    {'n', VK_PIPELINE_STAGE_2_NONE},
    {'y', VK_PIPELINE_STAGE_2_COPY_BIT},
    {'l', VK_PIPELINE_STAGE_2_CLEAR_BIT},
};

static struct small s;
static struct words from, to;
static VkDescriptorSet set;
static VkImage image;
static VkImageView view;
static VkRenderPass pass;
static VkFramebuffer framebuffer;
static PFN_vkCmdPipelineBarrier2KHR barrier2;
static PFN_vkCmdBeginRenderingKHR begin_rendering;
static PFN_vkCmdEndRenderingKHR end_rendering;

static void with_features(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceDynamicRenderingFeatures rendering = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES,
        .dynamicRendering = VK_TRUE};
    static VkPhysicalDeviceSynchronization2Features both = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .pNext = &rendering,
        .synchronization2 = VK_TRUE};
    static const char *const names[] = {VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME,
                                        VK_KHR_DYNAMIC_RENDERING_EXTENSION_NAME};

    info->pNext = &both;
    info->enabledExtensionCount = 2;
    info->ppEnabledExtensionNames = names;
}

static VkPipelineStageFlags2 stage_of(char letter)
{
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
        if (stages[i].letter == letter)
            return stages[i].flags;
    fprintf(stderr, "no stage %c\n", letter);
    exit(1);
}

/* ---- what is recorded -------------------------------------------------------------------------
 */

static const char *put_barrier(VkCommandBuffer commands, const char *at)
{
    vkCmdPipelineBarrier(commands, (VkPipelineStageFlags)stage_of(at[0]),
                         (VkPipelineStageFlags)stage_of(at[1]), 0, 0, NULL, 0, NULL, 0, NULL);
    return at + 2;
}

static const char *put_barriers(VkCommandBuffer commands, const char *at)
{
    VkMemoryBarrier2 list[9];
    VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                             .memoryBarrierCount = (uint32_t)(*at++ - '0'),
                             .pMemoryBarriers = list};

    for (uint32_t i = 0; i < info.memoryBarrierCount; i++, at += 2)
        list[i] = (VkMemoryBarrier2){.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                     .srcStageMask = stage_of(at[0]),
                                     .dstStageMask = stage_of(at[1])};
    barrier2(commands, &info);
    return at;
}

static void put_pass(VkCommandBuffer commands)
{
    const VkRenderingAttachmentInfo attachment = {.sType =
                                                      VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                                  .imageView = view,
                                                  .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                  .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                  .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = {{0, 0}, {SIDE, SIDE}},
                                  .layerCount = 1,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &attachment};

    begin_rendering(commands, &info);
    end_rendering(commands);
}

/* In a pass a barrier orders work of the pass alone. */
static void put_barrier_inside(VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_READ_BIT};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                         VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, VK_DEPENDENCY_BY_REGION_BIT,
                         1, &barrier, 0, NULL, 0, NULL);
}

static void put_old_pass(VkCommandBuffer commands, bool has_secondary)
{
    const VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                        .renderPass = pass,
                                        .framebuffer = framebuffer,
                                        .renderArea = {{0, 0}, {SIDE, SIDE}}};
    const VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO, .renderPass = pass};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags =
                                                VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT |
                                                VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                            .pInheritanceInfo = &inheritance};
    VkCommandBuffer inner;

    vkCmdBeginRenderPass(commands, &info,
                         has_secondary ? VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS
                                       : VK_SUBPASS_CONTENTS_INLINE);
    if (has_secondary) {
        inner = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        TRY(vkBeginCommandBuffer(inner, &begin));
        put_barrier_inside(inner);
        TRY(vkEndCommandBuffer(inner));
        vkCmdExecuteCommands(commands, 1, &inner);
    } else
        put_barrier_inside(commands);
    vkCmdEndRenderPass(commands);
}

static void put_dispatch(VkCommandBuffer commands)
{
    const uint32_t constant = 7;

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s.layout, 0, 1, &set, 0,
                            NULL);
    vkCmdPushConstants(commands, s.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &constant);
    vkCmdDispatch(commands, 1, 1, 1);
}

/* Records up to what does not belong into a command buffer, and returns that place. */
static const char *put(VkCommandBuffer commands, const char *at);

static const char *put_secondary(VkCommandBuffer commands, const char *at)
{
    VkCommandBuffer inner = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    const VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
                                           .pInheritanceInfo = &inheritance};

    TRY(vkBeginCommandBuffer(inner, &info));
    at = put(inner, at);
    TRY(vkEndCommandBuffer(inner));
    vkCmdExecuteCommands(commands, 1, &inner);
    return at + 1;
}

static const char *put(VkCommandBuffer commands, const char *at)
{
    const VkBufferCopy copy = {.size = WORDS * 4};
    const uint32_t word = 1;

    for (;;)
        switch (*at++) {
        case 'D':
            put_dispatch(commands);
            break;
        case 'C':
            vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &copy);
            break;
        case 'F':
            vkCmdFillBuffer(commands, to.buffer, 0, VK_WHOLE_SIZE, 5);
            break;
        case 'U':
            vkCmdUpdateBuffer(commands, to.buffer, 0, 4, &word);
            break;
        case 'R':
            put_pass(commands);
            break;
        case 'P':
        case 'S':
            put_old_pass(commands, at[-1] == 'S');
            break;
        case 'b':
            at = put_barrier(commands, at);
            break;
        case 'B':
            at = put_barriers(commands, at);
            break;
        case '(':
            at = put_secondary(commands, at);
            break;
        default:
            return at - 1;
        }
}

/* ---- what is sent -----------------------------------------------------------------------------
 */

struct sent {
    VkCommandBuffer buffers[BUFFERS_MAX];
    VkSubmitInfo batches[BUFFERS_MAX];
    uint32_t count, batch_count;
};

static void fill(struct sent *out, const char *at)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};

    out->count = out->batch_count = 0;
    for (bool is_new = true; out->count < BUFFERS_MAX; is_new = *at++ == ',') {
        VkCommandBuffer commands =
            small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

        TRY(vkBeginCommandBuffer(commands, &info));
        at = put(commands, at);
        TRY(vkEndCommandBuffer(commands));
        if (is_new)
            out->batches[out->batch_count++] =
                (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pCommandBuffers = &out->buffers[out->count]};
        out->batches[out->batch_count - 1].commandBufferCount++;
        out->buffers[out->count++] = commands;
        if (!*at)
            return;
    }
}

static void make_image(VkDeviceMemory *memory)
{
    VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};

    image = small_image(&s, info.format, SIDE, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, memory);
    info.image = image;
    TRY(vkCreateImageView(s.device, &info, NULL, &view));
}

static void make_pass(void)
{
    const VkAttachmentDescription attachment = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                .initialLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_GENERAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = &reference};
    const VkSubpassDependency self = {.srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                      .dstStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
                                      .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
                                      .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_READ_BIT,
                                      .dependencyFlags = VK_DEPENDENCY_BY_REGION_BIT};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 1,
                                         .pDependencies = &self};
    VkFramebufferCreateInfo frame = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                     .attachmentCount = 1,
                                     .pAttachments = &view,
                                     .width = SIDE,
                                     .height = SIDE,
                                     .layers = 1};

    TRY(vkCreateRenderPass(s.device, &info, NULL, &pass));
    frame.renderPass = pass;
    TRY(vkCreateFramebuffer(s.device, &frame, NULL, &framebuffer));
}

int main(int argc, char **argv)
{
    static struct sent sent;
    VkDeviceMemory memory;

    small_device = with_features;
    small_init(&s, 0);
    barrier2 =
        (PFN_vkCmdPipelineBarrier2KHR)vkGetDeviceProcAddr(s.device, "vkCmdPipelineBarrier2KHR");
    begin_rendering =
        (PFN_vkCmdBeginRenderingKHR)vkGetDeviceProcAddr(s.device, "vkCmdBeginRenderingKHR");
    end_rendering = (PFN_vkCmdEndRenderingKHR)vkGetDeviceProcAddr(s.device, "vkCmdEndRenderingKHR");
    words_init(&s, &from);
    words_init(&s, &to);
    make_image(&memory);
    make_pass();
    set = small_set(&s, from.buffer);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "W") == 0) {
            TRY(vkQueueWaitIdle(s.queue));
            continue;
        }
        if (strcmp(argv[i], "X") == 0)
            _exit(0);
        if (strcmp(argv[i], "=") != 0)
            fill(&sent, argv[i]);
        TRY(vkQueueSubmit(s.queue, sent.batch_count, sent.batches, VK_NULL_HANDLE));
    }
    TRY(vkDeviceWaitIdle(s.device));
    vkDestroyFramebuffer(s.device, framebuffer, NULL);
    vkDestroyRenderPass(s.device, pass, NULL);
    vkDestroyImageView(s.device, view, NULL);
    vkDestroyImage(s.device, image, NULL);
    vkFreeMemory(s.device, memory, NULL);
    words_finish(&s, &from);
    words_finish(&s, &to);
    small_finish(&s);
    return 0;
}
