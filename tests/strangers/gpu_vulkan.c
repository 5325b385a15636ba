/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/strangers/gpu.h"

#include "tests/vulkan/vk_small.h"

#include <dlfcn.h>
#include <stdlib.h>

static struct small small;
static struct words words;
static VkCommandBuffer commands;

void gpu_begin(void)
{
    small_init(&small, 0);
    words_init(&small, &words);
    commands = small_command_buffer(&small, small.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
}

unsigned gpu_fill(unsigned char first, int count)
{
    unsigned sum = 0;

    for (int i = 0; i < count; i++) {
        small_begin(commands);
        vkCmdFillBuffer(commands, words.buffer, 0, VK_WHOLE_SIZE, (unsigned char)(first + i));
        TRY(vkEndCommandBuffer(commands));
        small_run(&small, commands);
        sum += words.map[i];
    }
    return sum;
}

void gpu_attach(void) {}

void gpu_call(void)
{
    VkMemoryRequirements requirements;

    vkGetBufferMemoryRequirements(small.device, words.buffer, &requirements);
}

static void (*called)(void);

static void *allocate(void *unused, size_t size, size_t alignment, VkSystemAllocationScope scope)
{
    void (*function)(void) = called;

    called = NULL;
    if (function)
        function();
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void *reallocate(void *unused, void *old, size_t size, size_t alignment,
                        VkSystemAllocationScope scope)
{
    return realloc(old, size);
}

static void release(void *unused, void *memory)
{
    free(memory);
}

int gpu_call_back(void (*function)(void))
{
    const VkAllocationCallbacks callbacks = {
        .pfnAllocation = allocate, .pfnReallocation = reallocate, .pfnFree = release};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSemaphore semaphore;

    called = function;
    TRY(vkCreateSemaphore(small.device, &info, &callbacks, &semaphore));
    vkDestroySemaphore(small.device, semaphore, &callbacks);
    return 1;
}

const char *const gpu_library = "libvulkan.so.1";

void gpu_call_in(void *library)
{
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)dlsym(library, "vkEnumerateInstanceVersion");
    uint32_t number;

    TRY(version(&number));
}
