/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that send work to a device, or tell the program that work is done: memory that the
 * program has mapped is brought to the device before, and to the program after. They stand between
 * the wrappers and the next layer: see api/vulkan/source/memory/memory.c.
 */
#include "api/vulkan/source/memory/memory.h"

#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/source.h"

#define BELOW(handle, function, ...) vk_state_of(handle)->below.function(handle, __VA_ARGS__)

static VKAPI_ATTR VkResult VKAPI_CALL flush(VkDevice device, uint32_t count,
                                            const VkMappedMemoryRange *ranges)
{
    vk_memory_push();
    return BELOW(device, vkFlushMappedMemoryRanges, count, ranges);
}

static VKAPI_ATTR VkResult VKAPI_CALL invalidate(VkDevice device, uint32_t count,
                                                 const VkMappedMemoryRange *ranges)
{
    VkResult result = BELOW(device, vkInvalidateMappedMemoryRanges, count, ranges);

    vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count,
                                             const VkSubmitInfo *submits, VkFence fence)
{
    vk_memory_push_work(vk_state_of(queue));
    tsm_call_takes_effect();
    return vk_time_submit(queue, count, submits, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit2(VkQueue queue, uint32_t count,
                                              const VkSubmitInfo2 *submits, VkFence fence)
{
    PFN_vkQueueSubmit2 next = vk_state_of(queue)->below.vkQueueSubmit2;

    vk_memory_push_work(vk_state_of(queue));
    next = next ? next : vk_state_of(queue)->below.vkQueueSubmit2KHR;
    tsm_call_takes_effect();
    return vk_time_submit2(queue, count, submits, fence, next);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_sparse(VkQueue queue, uint32_t count,
                                                  const VkBindSparseInfo *infos, VkFence fence)
{
    tsm_call_takes_effect();
    return BELOW(queue, vkQueueBindSparse, count, infos, fence);
}

/* Work that was sent before may go on now, and read what the host has written since. */
static void before_signal(void)
{
    tsm_hostmem_publish(); /* the program's: it is about to say so */
    vk_memory_push();
}

static VKAPI_ATTR VkResult VKAPI_CALL set_event(VkDevice device, VkEvent event)
{
    before_signal();
    tsm_call_takes_effect();
    return BELOW(device, vkSetEvent, event);
}

static VKAPI_ATTR VkResult VKAPI_CALL signal_semaphore(VkDevice device,
                                                       const VkSemaphoreSignalInfo *info)
{
    PFN_vkSignalSemaphore next = vk_state_of(device)->below.vkSignalSemaphore;

    before_signal();
    tsm_call_takes_effect();
    return (next ? next : vk_state_of(device)->below.vkSignalSemaphoreKHR)(device, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_queue(VkQueue queue)
{
    VkResult result = vk_state_of(queue)->below.vkQueueWaitIdle(queue);

    vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_device(VkDevice device)
{
    VkResult result = vk_state_of(device)->below.vkDeviceWaitIdle(device);

    vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_fences(VkDevice device, uint32_t count,
                                                  const VkFence *fences, VkBool32 all,
                                                  uint64_t timeout)
{
    VkResult result = BELOW(device, vkWaitForFences, count, fences, all, timeout);

    if (result == VK_SUCCESS)
        vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice device,
                                                      const VkSemaphoreWaitInfo *info,
                                                      uint64_t timeout)
{
    PFN_vkWaitSemaphores next = vk_state_of(device)->below.vkWaitSemaphores;
    VkResult result =
        (next ? next : vk_state_of(device)->below.vkWaitSemaphoresKHR)(device, info, timeout);

    if (result == VK_SUCCESS)
        vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL fence_status(VkDevice device, VkFence fence)
{
    VkResult result = BELOW(device, vkGetFenceStatus, fence);

    if (result == VK_SUCCESS)
        vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL event_status(VkDevice device, VkEvent event)
{
    VkResult result = BELOW(device, vkGetEventStatus, event);

    if (result == VK_EVENT_SET)
        vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL semaphore_value(VkDevice device, VkSemaphore semaphore,
                                                      uint64_t *value)
{
    PFN_vkGetSemaphoreCounterValue next = vk_state_of(device)->below.vkGetSemaphoreCounterValue;
    VkResult result = (next ? next : vk_state_of(device)->below.vkGetSemaphoreCounterValueKHR)(
        device, semaphore, value);

    if (result == VK_SUCCESS)
        vk_memory_pull();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL query_results(VkDevice device, VkQueryPool pool,
                                                    uint32_t first, uint32_t count, size_t size,
                                                    void *data, VkDeviceSize stride,
                                                    VkQueryResultFlags flags)
{
    VkResult result =
        BELOW(device, vkGetQueryPoolResults, pool, first, count, size, data, stride, flags);

    if (result == VK_SUCCESS)
        vk_memory_pull();
    return result;
}

/* ---- in their place ------------------------------------------------------------------------- */

#define REPLACE(name, own)                                                                         \
    do {                                                                                           \
        if (f->name)                                                                               \
            f->name = own;                                                                         \
    } while (0)

void vk_wait_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    REPLACE(vkFlushMappedMemoryRanges, flush);
    REPLACE(vkInvalidateMappedMemoryRanges, invalidate);
    REPLACE(vkQueueSubmit, submit);
    REPLACE(vkQueueSubmit2, submit2);
    REPLACE(vkQueueSubmit2KHR, submit2);
    REPLACE(vkQueueBindSparse, bind_sparse);
    REPLACE(vkSetEvent, set_event);
    REPLACE(vkSignalSemaphore, signal_semaphore);
    REPLACE(vkSignalSemaphoreKHR, signal_semaphore);
    REPLACE(vkQueueWaitIdle, wait_queue);
    REPLACE(vkDeviceWaitIdle, wait_device);
    REPLACE(vkWaitForFences, wait_fences);
    REPLACE(vkWaitSemaphores, wait_semaphores);
    REPLACE(vkWaitSemaphoresKHR, wait_semaphores);
    REPLACE(vkGetFenceStatus, fence_status);
    REPLACE(vkGetEventStatus, event_status);
    REPLACE(vkGetSemaphoreCounterValue, semaphore_value);
    REPLACE(vkGetSemaphoreCounterValueKHR, semaphore_value);
    REPLACE(vkGetQueryPoolResults, query_results);
}
