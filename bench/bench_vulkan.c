/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the cost that the wrappers of some Vulkan commands add to a driver that does nothing.
 * Bursts are short enough to fit into a lane, with rests between them, so that the drain thread's
 * work is not measured here.
 */
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/describe.h"
#include "bench/measure.h"
#include "capture/session.h"

#include <unistd.h>

enum { ROUNDS = 400, BATCH = 256, BUFFERS = 64 };

static const struct tsm_source source = {.description = &vulkan_description};
const struct tsm_source *const tsm_sources[] = {&source, NULL};

static const char key;
static struct object {
    const void *key;
} device = {&key}, queue = {&key}, command_buffer = {&key};

#define DEVICE              ((VkDevice)&device)
#define QUEUE               ((VkQueue)&queue)
#define COMMAND             ((VkCommandBuffer)&command_buffer)
#define HANDLE(Type, index) ((Type)(uintptr_t)(0x100000 + 64 * (uint64_t)(index)))

static struct vk_device_dispatch dispatch;

/* ---- a driver that does nothing
 * -------------------------------------------------------------------- */

static VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer c, VkBuffer b, VkDeviceSize offset,
                                       VkDeviceSize size, uint32_t data)
{
    __asm__ volatile("" : : "r"(data));
}

static VKAPI_ATTR void VKAPI_CALL dispatch_groups(VkCommandBuffer c, uint32_t x, uint32_t y,
                                                  uint32_t z)
{
    __asm__ volatile("" : : "r"(x));
}

static VKAPI_ATTR void VKAPI_CALL bind_sets(VkCommandBuffer c, VkPipelineBindPoint p,
                                            VkPipelineLayout l, uint32_t first, uint32_t n,
                                            const VkDescriptorSet *s, uint32_t m, const uint32_t *o)
{
    __asm__ volatile("" : : "r"(s));
}

static VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer c, VkPipelineLayout l, VkShaderStageFlags f,
                                       uint32_t offset, uint32_t size, const void *values)
{
    __asm__ volatile("" : : "r"(values));
}

static VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer c, VkPipelineStageFlags a,
                                          VkPipelineStageFlags b, VkDependencyFlags f, uint32_t n,
                                          const VkMemoryBarrier *m, uint32_t o,
                                          const VkBufferMemoryBarrier *p, uint32_t q,
                                          const VkImageMemoryBarrier *r)
{
    __asm__ volatile("" : : "r"(m));
}

static VKAPI_ATTR void VKAPI_CALL update(VkDevice d, uint32_t n, const VkWriteDescriptorSet *w,
                                         uint32_t m, const VkCopyDescriptorSet *c)
{
    __asm__ volatile("" : : "r"(w));
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue q, uint32_t n, const VkSubmitInfo *s,
                                             VkFence f)
{
    __asm__ volatile("" : : "r"(s));
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL status(VkDevice d, VkFence f)
{
    return VK_NOT_READY;
}

/* ---- a program
 * ---------------------------------------------------------------------------------------- */

static struct vk_device_functions *next; /* the driver, or our wrappers */

static void call_fill(uint32_t i)
{
    next->vkCmdFillBuffer(COMMAND, HANDLE(VkBuffer, i % BUFFERS), 64 * i, 256, i);
}

static void call_dispatch(uint32_t i)
{
    next->vkCmdDispatch(COMMAND, i, 1, 1);
}

static void call_bind(uint32_t i)
{
    VkDescriptorSet set = HANDLE(VkDescriptorSet, i % BUFFERS);

    next->vkCmdBindDescriptorSets(COMMAND, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  HANDLE(VkPipelineLayout, 1), 0, 1, &set, 0, NULL);
}

static void call_push(uint32_t i)
{
    uint32_t values[16] = {i, 1, 2, 3};

    next->vkCmdPushConstants(COMMAND, HANDLE(VkPipelineLayout, 1), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(values), values);
}

static void call_barrier(uint32_t i)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_SHADER_READ_BIT};

    next->vkCmdPipelineBarrier(COMMAND, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0, NULL, 0,
                               NULL);
}

static void call_update(uint32_t i)
{
    VkDescriptorBufferInfo range = {HANDLE(VkBuffer, i % BUFFERS), 0, 4096};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = HANDLE(VkDescriptorSet, i % BUFFERS),
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &range};

    next->vkUpdateDescriptorSets(DEVICE, 1, &write, 0, NULL);
}

static void call_submit(uint32_t i)
{
    VkCommandBuffer buffer = COMMAND;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &buffer};

    next->vkQueueSubmit(QUEUE, 1, &info, HANDLE(VkFence, 1));
}

static void call_poll(uint32_t i)
{
    next->vkGetFenceStatus(DEVICE, HANDLE(VkFence, 1));
}

/* ---- figures
 * -------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *direct;
    void (*call)(uint32_t i);
} calls[] = {
    {"vkCmdFillBuffer_ns", "vkCmdFillBuffer_direct_ns", call_fill},
    {"vkCmdDispatch_ns", "vkCmdDispatch_direct_ns", call_dispatch},
    {"vkCmdBindDescriptorSets_ns", "vkCmdBindDescriptorSets_direct_ns", call_bind},
    {"vkCmdPushConstants_ns", "vkCmdPushConstants_direct_ns", call_push},
    {"vkCmdPipelineBarrier_ns", "vkCmdPipelineBarrier_direct_ns", call_barrier},
    {"vkUpdateDescriptorSets_ns", "vkUpdateDescriptorSets_direct_ns", call_update},
    {"vkQueueSubmit_ns", "vkQueueSubmit_direct_ns", call_submit},
    {"vkGetFenceStatus_ns", "vkGetFenceStatus_direct_ns", call_poll},
};

#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))

static struct bench_samples samples[CALL_COUNT][2];

static void measure(size_t which, struct vk_device_functions *through, struct bench_samples *out)
{
    uint64_t begin;

    next = through;
    begin = tsm_monotonic_ns();
    for (uint32_t i = 0; i < BATCH; i++)
        calls[which].call(i);
    bench_add(out, (double)(tsm_monotonic_ns() - begin) / BATCH);
}

int main(void)
{
    static struct vk_device_functions wrappers;
    PFN_vkVoidFunction *slots = (PFN_vkVoidFunction *)(void *)&wrappers;

    dispatch.f = (struct vk_device_functions){.vkCmdFillBuffer = fill,
                                              .vkCmdDispatch = dispatch_groups,
                                              .vkCmdBindDescriptorSets = bind_sets,
                                              .vkCmdPushConstants = push,
                                              .vkCmdPipelineBarrier = barrier,
                                              .vkUpdateDescriptorSets = update,
                                              .vkQueueSubmit = submit,
                                              .vkGetFenceStatus = status};
    for (size_t i = 0; i < sizeof(vk_device_names) / sizeof(vk_device_names[0]); i++)
        slots[i] = vk_wrapper(vk_name(vk_device_names[i]));
    if (!vk_device_add(&dispatch, DEVICE))
        return 1;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < CALL_COUNT; i++) {
            measure(i, &dispatch.f, &samples[i][0]);
            measure(i, &wrappers, &samples[i][1]);
            usleep(200);
        }
    for (size_t i = 0; i < CALL_COUNT; i++) {
        bench_print(calls[i].direct, &samples[i][0]);
        bench_print(calls[i].name, &samples[i][1]);
    }
    tsm_session_finish();
    return 0;
}
