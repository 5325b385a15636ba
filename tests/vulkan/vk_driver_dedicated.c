/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of the tests, memory that is made for one buffer or image
 * (VkMemoryDedicatedAllocateInfo): ends the process when anything else is bound to it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vulkan/vk_driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dedicated {
    VkDeviceMemory memory;
    VkBuffer buffer;
    VkImage image;
} all[64];

static struct dedicated *find(VkDeviceMemory memory)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].memory == memory)
            return &all[i];
    return NULL;
}

static void *in_chain(const void *chain, VkStructureType type)
{
    VkBaseOutStructure *s = (VkBaseOutStructure *)(uintptr_t)chain;

    while (s && s->sType != type)
        s = s->pNext;
    return s;
}

VkResult dedicated_allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                            const VkAllocationCallbacks *a, VkDeviceMemory *out)
{
    const VkMemoryDedicatedAllocateInfo *d =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    VkResult result = REAL(vkAllocateMemory)(device, info, a, out);
    struct dedicated *at;

    if (result < 0 || !d || (!d->buffer && !d->image))
        return result;
    pthread_mutex_lock(&lock);
    at = find(VK_NULL_HANDLE);
    if (!at)
        abort();
    *at = (struct dedicated){*out, d->buffer, d->image};
    pthread_mutex_unlock(&lock);
    return result;
}

void dedicated_require(void *chain)
{
    const char *text = getenv("TS_TEST_DRIVER");
    VkMemoryDedicatedRequirements *d =
        in_chain(chain, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS);

    if (d && text && strstr(text, "dedicated"))
        d->requiresDedicatedAllocation = d->prefersDedicatedAllocation = VK_TRUE;
}

void dedicated_gone(VkDeviceMemory memory)
{
    struct dedicated *at;

    pthread_mutex_lock(&lock);
    at = memory ? find(memory) : NULL;
    if (at)
        *at = (struct dedicated){0};
    pthread_mutex_unlock(&lock);
}

static void check(VkDeviceMemory memory, VkBuffer buffer, VkImage image)
{
    const struct dedicated *at;

    pthread_mutex_lock(&lock);
    at = find(memory);
    if (at && (at->buffer != buffer || at->image != image)) {
        fprintf(stderr, "something is bound to memory that was made for another resource\n");
        abort();
    }
    pthread_mutex_unlock(&lock);
}

VkResult VKAPI_CALL dedicated_bind_buffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                          VkDeviceSize offset)
{
    check(memory, buffer, VK_NULL_HANDLE);
    return REAL(vkBindBufferMemory)(device, buffer, memory, offset);
}

VkResult VKAPI_CALL dedicated_bind_image(VkDevice device, VkImage image, VkDeviceMemory memory,
                                         VkDeviceSize offset)
{
    check(memory, VK_NULL_HANDLE, image);
    return REAL(vkBindImageMemory)(device, image, memory, offset);
}

VkResult VKAPI_CALL dedicated_bind_buffers(VkDevice device, uint32_t count,
                                           const VkBindBufferMemoryInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        check(infos[i].memory, infos[i].buffer, VK_NULL_HANDLE);
    return REAL_KHR(vkBindBufferMemory2)(device, count, infos);
}

VkResult VKAPI_CALL dedicated_bind_images(VkDevice device, uint32_t count,
                                          const VkBindImageMemoryInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        check(infos[i].memory, VK_NULL_HANDLE, infos[i].image);
    return REAL_KHR(vkBindImageMemory2)(device, count, infos);
}
