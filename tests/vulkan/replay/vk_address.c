/* SPDX-License-Identifier: Apache-2.0
 *
 * A shader that gets the address of a buffer in a push constant, while the host has yet to signal
 * that it may begin: submitted first, signalled after.
 */
#include "tests/vulkan/vk_small.h"

#include "vk_address.h" /* vk_address.comp, compiled */

#define VALUE 3u /* of the semaphore, when the work may begin */

static void make_device(struct small *s)
{
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .bufferDeviceAddress = VK_TRUE,
        .timelineSemaphore = VK_TRUE};
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &application};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    uint32_t count = 1;

    if (vkCreateInstance(&instance, NULL, &s->instance) < 0 ||
        vkEnumeratePhysicalDevices(s->instance, &count, &s->physical) < 0 || count == 0 ||
        vkCreateDevice(s->physical, &info, NULL, &s->device) < 0)
        exit(77);
    vkGetDeviceQueue(s->device, 0, 0, &s->queue);
    TRY(vkCreateCommandPool(s->device, &pool, NULL, &s->pool));
}

static void make_pipeline(struct small *s)
{
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(VkDeviceAddress)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};
    VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = sizeof(vk_address),
                                     .pCode = vk_address};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .pName = "main"}};

    TRY(vkCreatePipelineLayout(s->device, &layout, NULL, &s->layout));
    TRY(vkCreateShaderModule(s->device, &code, NULL, &info.stage.module));
    info.layout = s->layout;
    TRY(vkCreateComputePipelines(s->device, VK_NULL_HANDLE, 1, &info, NULL, &s->pipeline));
}

/* The second half of the memory. */
static VkDeviceAddress make_buffer(struct small *s, uint32_t **map)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = WORDS * 4,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                          VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .pNext = &flags,
                                   .allocationSize = WORDS * 8};
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    VkDeviceMemory raw;

    TRY(vkCreateBuffer(s->device, &buffer, NULL, &address.buffer));
    TRY(vkAllocateMemory(s->device, &memory, NULL, &raw));
    TRY(vkBindBufferMemory(s->device, address.buffer, raw, WORDS * 4));
    TRY(vkMapMemory(s->device, raw, WORDS * 4, WORDS * 4, 0, (void **)map));
    return vkGetBufferDeviceAddress(s->device, &address);
}

static VkCommandBuffer record(struct small *s, VkDeviceAddress address)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = s->pool,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;

    TRY(vkAllocateCommandBuffers(s->device, &info, &commands));
    TRY(vkBeginCommandBuffer(commands, &begin));
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline);
    vkCmdPushConstants(commands, s->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(address),
                       &address);
    vkCmdDispatch(commands, WORDS / 64, 1, 1);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

static void run(struct small *s, VkCommandBuffer commands)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    uint64_t value = VALUE;
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &value};
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSemaphore semaphore;

    TRY(vkCreateSemaphore(s->device, &info, NULL, &semaphore));
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &values,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &semaphore,
                           .pWaitDstStageMask = &stage,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = VALUE};
    TRY(vkQueueSubmit(s->queue, 1, &submit, VK_NULL_HANDLE));
    TRY(vkSignalSemaphore(s->device, &signal));
    TRY(vkQueueWaitIdle(s->queue));
}

int main(void)
{
    struct small s = {0};
    uint32_t *words, sum = 0;

    make_device(&s);
    make_pipeline(&s);
    VkCommandBuffer commands = record(&s, make_buffer(&s, &words));
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = 7;
    run(&s, commands);
    for (uint32_t i = 0; i < WORDS; i++)
        sum += words[i];
    printf("sum %u\n", sum);
    return sum == 7 * WORDS + WORDS * (WORDS - 1) / 2 ? 0 : 1;
}
