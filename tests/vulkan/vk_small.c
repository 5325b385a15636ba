/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/vulkan/vk_small.h"

#include <string.h>

#include "vk_triple.h" /* vk_triple.comp, compiled */

#define GROUP 64u

/* Other layers than ours read what they should not: TS_TEST_TAME leaves no pointer wild, to have
 * figures of them. */
static void leave_wild(void *pointer)
{
    if (!getenv("TS_TEST_TAME"))
        memset(pointer, 0x5a, sizeof(void *));
}

const char *const *small_extensions;
void (*small_device)(VkDeviceCreateInfo *info);
const void *small_features;
const void *small_memory;
int small_unmapped;

static VkInstance make_instance(void)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "small",
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application,
                                 .enabledExtensionCount = small_extensions ? 1 : 0,
                                 .ppEnabledExtensionNames = small_extensions};
    VkInstance instance;
    VkResult result = vkCreateInstance(&info, NULL, &instance);

    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        exit(77);
    TRY(result);
    return instance;
}

static void make_device(struct small *s, int push)
{
    static const char *const extensions[] = {"VK_KHR_push_descriptor"};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = small_features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = push ? 1 : 0,
                               .ppEnabledExtensionNames = extensions};
    uint32_t count = 1;

    if (vkEnumeratePhysicalDevices(s->instance, &count, &s->physical) < 0 || count == 0)
        exit(77);
    if (small_device)
        small_device(&info);
    TRY(vkCreateDevice(s->physical, &info, NULL, &s->device));
    vkGetDeviceQueue(s->device, 0, 0, &s->queue);
}

static void make_layouts(struct small *s, int push)
{
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = push ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
        .bindingCount = 1,
        .pBindings = &binding};
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &s->set_layout,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &range};

    /* The specification says that this pointer is ignored for a storage buffer. */
    leave_wild(&binding.pImmutableSamplers);
    TRY(vkCreateDescriptorSetLayout(s->device, &sets, NULL, &s->set_layout));
    TRY(vkCreatePipelineLayout(s->device, &info, NULL, &s->layout));
}

VkShaderModule small_module(const struct small *s)
{
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = sizeof(vk_triple),
                                     .pCode = vk_triple};
    VkShaderModule module;

    TRY(vkCreateShaderModule(s->device, &code, NULL, &module));
    return module;
}

static void make_pipeline(struct small *s)
{
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main"},
        .layout = s->layout};

    info.stage.module = small_module(s);
    TRY(vkCreateComputePipelines(s->device, VK_NULL_HANDLE, 1, &info, NULL, &s->pipeline));
    vkDestroyShaderModule(s->device, info.stage.module, NULL);
}

void small_init(struct small *s, int push)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 16};
    VkDescriptorPoolCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 16,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};

    s->instance = make_instance();
    make_device(s, push);
    make_layouts(s, push);
    make_pipeline(s);
    TRY(vkCreateCommandPool(s->device, &pool, NULL, &s->pool));
    TRY(vkCreateDescriptorPool(s->device, &sets, NULL, &s->sets));
}

void small_finish(struct small *s)
{
    vkDestroyDescriptorPool(s->device, s->sets, NULL);
    vkDestroyCommandPool(s->device, s->pool, NULL);
    vkDestroyPipeline(s->device, s->pipeline, NULL);
    vkDestroyPipelineLayout(s->device, s->layout, NULL);
    vkDestroyDescriptorSetLayout(s->device, s->set_layout, NULL);
    vkDestroyDevice(s->device, NULL);
    vkDestroyInstance(s->instance, NULL);
}

static uint32_t coherent_type(const struct small *s, uint32_t allowed)
{
    VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;

    vkGetPhysicalDeviceMemoryProperties(s->physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    exit(77);
}

void words_init(const struct small *s, struct words *w)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = WORDS * 4,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = small_memory};
    VkMemoryRequirements needs;

    TRY(vkCreateBuffer(s->device, &info, NULL, &w->buffer));
    vkGetBufferMemoryRequirements(s->device, w->buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = coherent_type(s, needs.memoryTypeBits);
    TRY(vkAllocateMemory(s->device, &allocate, NULL, &w->memory));
    TRY(vkBindBufferMemory(s->device, w->buffer, w->memory, 0));
    w->map = NULL;
    if (!small_unmapped)
        TRY(vkMapMemory(s->device, w->memory, 0, VK_WHOLE_SIZE, 0, (void **)&w->map));
}

void words_finish(const struct small *s, struct words *w)
{
    vkDestroyBuffer(s->device, w->buffer, NULL);
    vkFreeMemory(s->device, w->memory, NULL); /* unmaps it */
}

VkImage small_image(const struct small *s, VkFormat format, uint32_t side, VkImageUsageFlags usage,
                    VkDeviceMemory *memory)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {side, side, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = usage};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkImage image;

    TRY(vkCreateImage(s->device, &info, NULL, &image));
    vkGetImageMemoryRequirements(s->device, image, &needs);
    allocate.allocationSize = needs.size;
    while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1))
        allocate.memoryTypeIndex++;
    TRY(vkAllocateMemory(s->device, &allocate, NULL, memory));
    TRY(vkBindImageMemory(s->device, image, *memory, 0));
    return image;
}

VkCommandBuffer small_command_buffer(const struct small *s, VkCommandPool pool,
                                     VkCommandBufferLevel level)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = pool,
                                        .level = level,
                                        .commandBufferCount = 1};
    VkCommandBuffer commands;

    TRY(vkAllocateCommandBuffers(s->device, &info, &commands));
    return commands;
}

void small_begin(VkCommandBuffer commands)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    /* Ignored for a primary command buffer. */
    leave_wild(&info.pInheritanceInfo);
    TRY(vkBeginCommandBuffer(commands, &info));
}

void small_begin_secondary(VkCommandBuffer commands)
{
    VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .pInheritanceInfo = &inheritance};

    TRY(vkBeginCommandBuffer(commands, &info));
}

VkDescriptorSet small_set(const struct small *s, VkBuffer buffer)
{
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = s->sets,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &s->set_layout};
    VkDescriptorBufferInfo what = {buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &what};
    VkDescriptorSet set;

    /* Ignored for a buffer. */
    leave_wild(&write.pImageInfo);
    leave_wild(&write.pTexelBufferView);
    TRY(vkAllocateDescriptorSets(s->device, &info, &set));
    write.dstSet = set;
    vkUpdateDescriptorSets(s->device, 1, &write, 0, NULL);
    return set;
}

void small_dispatch(const struct small *s, VkCommandBuffer commands, VkDescriptorSet set,
                    uint32_t constant)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask =
                                   VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT};

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline);
    if (set)
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->layout, 0, 1, &set, 0,
                                NULL);
    vkCmdPushConstants(commands, s->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &constant);
    vkCmdDispatch(commands, WORDS / GROUP, 1, 1);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                         &barrier, 0, NULL, 0, NULL);
}

VkFence small_send(const struct small *s, VkCommandBuffer commands)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    VkFence fence;

    TRY(vkCreateFence(s->device, &info, NULL, &fence));
    TRY(vkQueueSubmit(s->queue, 1, &submit, fence));
    return fence;
}

void small_await(const struct small *s, VkFence fence)
{
    TRY(vkWaitForFences(s->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(s->device, fence, NULL);
}

void small_run(const struct small *s, VkCommandBuffer commands)
{
    small_await(s, small_send(s, commands));
}

VkSemaphore timeline_make(const struct small *s)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore;

    TRY(vkCreateSemaphore(s->device, &info, NULL, &semaphore));
    return semaphore;
}

void timeline_send(VkQueue queue, VkCommandBuffer commands, VkSemaphore from, uint64_t wait,
                   VkSemaphore to, uint64_t signal)
{
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &wait,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &signal};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &values,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &from,
                           .pWaitDstStageMask = &stage,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands,
                           .signalSemaphoreCount = 1,
                           .pSignalSemaphores = &to};

    TRY(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
}

void timeline_await(const struct small *s, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &semaphore,
                                .pValues = &value};

    TRY(vkWaitSemaphores(s->device, &info, UINT64_MAX));
}

uint32_t words_sum(const struct words *w)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < WORDS; i++)
        sum = sum * 31 + w->map[i];
    return sum;
}
