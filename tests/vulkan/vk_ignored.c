/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills members that the specification ignores with the byte of the argument: the trace must not
 * depend on it, and must be replayed. `vk_ignored 0` and `vk_ignored 0x5a`.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>

static int byte;

/* Ignored here: numbers, handles. */
#define LEAVE(member) memset(&(member), byte, sizeof(member))

static VkSampler make_sampler(const struct small *s)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkSampler sampler;

    LEAVE(info.compareOp);
    memset(&info.maxAnisotropy, byte == 0 ? 0 : 0x3f, sizeof(info.maxAnisotropy));
    TRY(vkCreateSampler(s->device, &info, NULL, &sampler));
    return sampler;
}

static VkImage make_image(const struct small *s, VkDeviceMemory *memory)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {4, 4, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkImage image;

    LEAVE(info.queueFamilyIndexCount);
    LEAVE(info.pQueueFamilyIndices);
    TRY(vkCreateImage(s->device, &info, NULL, &image));
    vkGetImageMemoryRequirements(s->device, image, &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(s->device, &allocate, NULL, memory));
    TRY(vkBindImageMemory(s->device, image, *memory, 0));
    return image;
}

static VkImageView make_view(const struct small *s, VkImage image)
{
    VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkImageView view;

    TRY(vkCreateImageView(s->device, &info, NULL, &view));
    return view;
}

/* Binding 3 has its sampler in the layout, binding 4 has none. */
static VkDescriptorSetLayout make_layout(const struct small *s, const VkSampler *sampler)
{
    VkDescriptorSetLayoutBinding bindings[2] = {
        {3, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, sampler},
        {4, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .bindingCount = 2,
                                            .pBindings = bindings};
    VkDescriptorSetLayout layout;

    LEAVE(bindings[1].pImmutableSamplers);
    TRY(vkCreateDescriptorSetLayout(s->device, &info, NULL, &layout));
    return layout;
}

static VkDescriptorPool make_pool(const struct small *s)
{
    VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
                                     {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1}};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 2,
                                       .pPoolSizes = sizes};
    VkDescriptorPool pool;

    TRY(vkCreateDescriptorPool(s->device, &info, NULL, &pool));
    return pool;
}

/* `stale`: was destroyed. */
static void write_set(const struct small *s, VkDescriptorPool pool, VkDescriptorSetLayout layout,
                      VkImageView view, VkSampler stale)
{
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = pool,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &layout};
    VkDescriptorImageInfo what[2] = {{stale, view, VK_IMAGE_LAYOUT_GENERAL},
                                     {stale, view, VK_IMAGE_LAYOUT_GENERAL}};
    VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstBinding = 3,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                       .pImageInfo = &what[0]},
                                      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstBinding = 4,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                                       .pImageInfo = &what[1]}};
    VkDescriptorSet set;

    TRY(vkAllocateDescriptorSets(s->device, &info, &set));
    writes[0].dstSet = writes[1].dstSet = set;
    LEAVE(writes[0].pBufferInfo);
    LEAVE(writes[0].pTexelBufferView);
    vkUpdateDescriptorSets(s->device, 2, writes, 0, NULL);
}

/* A buffer in memory whose import says that nothing is imported. */
static void make_buffer(const struct small *s)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = 64,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryRequirements needs;
    VkBuffer buffer;

    LEAVE(info.queueFamilyIndexCount);
    LEAVE(info.pQueueFamilyIndices);
    TRY(vkCreateBuffer(s->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(s->device, buffer, &needs);
    vkDestroyBuffer(s->device, buffer, NULL);
}

static void record_secondary(const struct small *s)
{
    VkCommandBuffer commands = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .pInheritanceInfo = &inheritance};

    LEAVE(inheritance.renderPass);
    LEAVE(inheritance.framebuffer);
    LEAVE(inheritance.subpass);
    TRY(vkBeginCommandBuffer(commands, &info));
    TRY(vkEndCommandBuffer(commands));
}

static VkPipeline make_pipeline(const struct small *s, VkShaderModule module)
{
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = s->layout};
    VkPipeline pipeline;

    LEAVE(info.basePipelineHandle);
    LEAVE(info.basePipelineIndex);
    TRY(vkCreateComputePipelines(s->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

int main(int argc, char **argv)
{
    VkSampler own, stale, gone;
    VkDescriptorSetLayout layout;
    VkDescriptorPool pool;
    VkDeviceMemory memory;
    VkCommandBuffer commands;
    VkShaderModule module;
    VkImageView view;
    VkImage image;
    struct small s;
    struct words w;

    byte = argc == 2 ? (int)strtol(argv[1], NULL, 0) : 0;
    small_init(&s, 0);
    words_init(&s, &w);
    make_buffer(&s);
    own = make_sampler(&s);
    gone = stale = make_sampler(&s);
    vkDestroySampler(s.device, gone, NULL);
    if (byte)
        LEAVE(stale);
    image = make_image(&s, &memory);
    view = make_view(&s, image);
    layout = make_layout(&s, &own);
    pool = make_pool(&s);
    write_set(&s, pool, layout, view, stale);
    record_secondary(&s);
    module = small_module(&s);
    vkDestroyPipeline(s.device, make_pipeline(&s, module), NULL);
    vkDestroyShaderModule(s.device, module, NULL);
    for (uint32_t i = 0; i < WORDS; i++)
        w.map[i] = i;
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(commands);
    small_dispatch(&s, commands, small_set(&s, w.buffer), 2);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    printf("sum %08x\n", words_sum(&w));
    vkDestroyDescriptorPool(s.device, pool, NULL);
    vkDestroyDescriptorSetLayout(s.device, layout, NULL);
    vkDestroyImageView(s.device, view, NULL);
    vkDestroyImage(s.device, image, NULL);
    vkFreeMemory(s.device, memory, NULL);
    vkDestroySampler(s.device, own, NULL);
    words_finish(&s, &w);
    small_finish(&s);
    return 0;
}
