/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/vulkan/vulkan_fake_driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/vulkan/tables/headers.h"

#define EXPORT __attribute__((visibility("default")))
#define LOCAL  VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define MAPPED (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

EXPORT fake_state_function fake_state;
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance, const char *name);

static struct fake fake;
static void *dispatchable[4] = {fake.log, fake.log, fake.log, fake.log};
static uint64_t next_handle = 0x100;

#define INSTANCE ((VkInstance)&dispatchable[0])
#define PHYSICAL ((VkPhysicalDevice)&dispatchable[1])
#define DEVICE   ((VkDevice)&dispatchable[2])
#define QUEUE    ((VkQueue)&dispatchable[3])

struct fake *fake_state(void)
{
    return &fake;
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    size_t used = strlen(fake.log);
    va_list ap;

    va_start(ap, format);
    vsnprintf(fake.log + used, sizeof(fake.log) - used, format, ap);
    va_end(ap);
}

struct memory {
    uint64_t size;
    uint8_t bytes[];
};

struct buffer {
    uint64_t size, offset;
    struct memory *memory;
};

/* ---- instance ---------------------------------------------------------------------------- */

static VkResult version(uint32_t *out)
{
    *out = VK_API_VERSION_1_3;
    return VK_SUCCESS;
}

static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a,
                                VkInstance *out)
{
    note("vkCreateInstance %u layers\n", info->enabledLayerCount);
    *out = INSTANCE;
    return VK_SUCCESS;
}

static VkResult physicals(VkInstance i, uint32_t *count, VkPhysicalDevice *out)
{
    *count = 1;
    if (out)
        *out = PHYSICAL;
    return VK_SUCCESS;
}

static void properties(VkPhysicalDevice d, VkPhysicalDeviceProperties *out)
{
    memset(out, 0, sizeof(*out));
    strcpy(out->deviceName, "fake");
    out->apiVersion = VK_API_VERSION_1_3;
    out->limits.maxPushConstantsSize = 128;
    out->limits.maxBoundDescriptorSets = 4;
    for (int i = 0; i < 3; i++)
        out->limits.maxComputeWorkGroupCount[i] = 100;
}

static void memory_properties(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties *out)
{
    memset(out, 0, sizeof(*out));
    out->memoryTypeCount = 2;
    out->memoryTypes[0].propertyFlags = LOCAL;
    out->memoryTypes[1].propertyFlags = MAPPED;
    out->memoryHeapCount = 1;
}

static void families(VkPhysicalDevice d, uint32_t *count, VkQueueFamilyProperties *out)
{
    *count = 1;
    if (out)
        *out = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_COMPUTE_BIT, .queueCount = 1};
}

static void features(VkPhysicalDevice d, VkPhysicalDeviceFeatures2 *out)
{
    memset(&out->features, 0, sizeof(out->features));
    out->features.shaderInt64 = VK_TRUE;
}

static VkResult image_format(VkPhysicalDevice d, VkFormat format, VkImageType type,
                             VkImageTiling tiling, VkImageUsageFlags usage, VkImageCreateFlags f,
                             VkImageFormatProperties *out)
{
    *out = (VkImageFormatProperties){{64, 64, 1}, 1, 1, VK_SAMPLE_COUNT_1_BIT, 1u << 30};
    return format == VK_FORMAT_R8G8B8A8_UNORM ? VK_SUCCESS : VK_ERROR_FORMAT_NOT_SUPPORTED;
}

/* Good for nothing. */
static void format_properties(VkPhysicalDevice d, VkFormat format, VkFormatProperties *out)
{
    memset(out, 0, sizeof(*out));
}

static VkResult device_extensions(VkPhysicalDevice d, const char *layer, uint32_t *count,
                                  VkExtensionProperties *out)
{
    *count = 1;
    if (out)
        strcpy(out->extensionName, "VK_KHR_swapchain");
    return VK_SUCCESS;
}

static VkResult no_instance_extensions(const char *layer, uint32_t *count,
                                       VkExtensionProperties *out)
{
    *count = 0;
    return VK_SUCCESS;
}

static VkResult create_device(VkPhysicalDevice d, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *a, VkDevice *out)
{
    unsigned structs = 0;

    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        structs++;
    note("vkCreateDevice %u extensions, %u structs\n", info->enabledExtensionCount, structs);
    *out = DEVICE;
    return VK_SUCCESS;
}

static void gone(void *object, const VkAllocationCallbacks *a) {}

/* ---- objects ----------------------------------------------------------------------------- */

static VkResult create(VkDevice d, const void *info, const VkAllocationCallbacks *a, uint64_t *out)
{
    fake.live++;
    *out = next_handle += 16;
    return VK_SUCCESS;
}

static void destroy(VkDevice d, uint64_t object, const VkAllocationCallbacks *a)
{
    fake.live -= object != 0;
}

static void destroy_semaphore(VkDevice d, uint64_t object, const VkAllocationCallbacks *a)
{
    note("vkDestroySemaphore\n");
    destroy(d, object, a);
}

static void get_queue(VkDevice d, uint32_t family, uint32_t index, VkQueue *out)
{
    *out = QUEUE;
}

static VkResult allocate(VkDevice d, const VkMemoryAllocateInfo *info,
                         const VkAllocationCallbacks *a, VkDeviceMemory *out)
{
    struct memory *m =
        info->allocationSize < 16u << 20 ? malloc(sizeof(*m) + info->allocationSize) : NULL;

    if (!m)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    note("vkAllocateMemory %u bytes type %u\n", (unsigned)info->allocationSize,
         info->memoryTypeIndex);
    m->size = info->allocationSize;
    memset(m->bytes, 0x77, m->size);
    fake.live++;
    *out = (VkDeviceMemory)m;
    return VK_SUCCESS;
}

static void release(VkDevice d, VkDeviceMemory memory, const VkAllocationCallbacks *a)
{
    fake.live -= memory != VK_NULL_HANDLE;
    free((void *)memory);
}

static VkResult map(VkDevice d, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                    VkMemoryMapFlags flags, void **out)
{
    *out = ((struct memory *)memory)->bytes + offset;
    return VK_SUCCESS;
}

static VkResult create_buffer(VkDevice d, const VkBufferCreateInfo *info,
                              const VkAllocationCallbacks *a, VkBuffer *out)
{
    struct buffer *b = calloc(1, sizeof(*b));

    b->size = info->size;
    fake.live++;
    *out = (VkBuffer)b;
    return VK_SUCCESS;
}

static void destroy_buffer(VkDevice d, VkBuffer buffer, const VkAllocationCallbacks *a)
{
    fake.live -= buffer != VK_NULL_HANDLE;
    free((void *)buffer);
}

static void requirements(VkDevice d, VkBuffer buffer, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){((struct buffer *)buffer)->size,
                                  fake.alignment ? fake.alignment : 16, 3};
}

static void image_requirements(VkDevice d, VkImage image, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){256, 16, 3};
}

static VkResult bind(VkDevice d, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset)
{
    ((struct buffer *)buffer)->memory = (struct memory *)memory;
    ((struct buffer *)buffer)->offset = offset;
    return VK_SUCCESS;
}

static VkResult bind_image(VkDevice d, VkImage image, VkDeviceMemory memory, VkDeviceSize offset)
{
    return VK_SUCCESS;
}

static VkDeviceAddress address(VkDevice d, const VkBufferDeviceAddressInfo *info)
{
    return (uint64_t)fake.address_base << 32 | 0x1000;
}

/* Ranges of buffers are the program's affair, as with every driver; this one looks. */
static uint8_t *range(const struct buffer *b, uint64_t offset, uint64_t size)
{
    uint64_t end = b->memory ? b->memory->size : 0;

    if (b->offset > end || offset > end - b->offset || size > end - b->offset - offset)
        return NULL;
    return b->memory->bytes + b->offset + offset;
}

/* ---- commands ---------------------------------------------------------------------------- */

static VkResult allocate_commands(VkDevice d, const VkCommandBufferAllocateInfo *info,
                                  VkCommandBuffer *out)
{
    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        out[i] = (VkCommandBuffer)&dispatchable[3];
    return VK_SUCCESS;
}

static void free_commands(VkDevice d, VkCommandPool pool, uint32_t count, const VkCommandBuffer *c)
{
}

static VkResult begin(VkCommandBuffer c, const VkCommandBufferBeginInfo *info)
{
    return VK_SUCCESS;
}

static VkResult end(VkCommandBuffer c)
{
    return VK_SUCCESS;
}

static VkResult reset_pool(VkDevice d, VkCommandPool pool, VkCommandPoolResetFlags flags)
{
    return VK_SUCCESS;
}

static void barrier(VkCommandBuffer c, VkPipelineStageFlags s, VkPipelineStageFlags t,
                    VkDependencyFlags f, uint32_t n, const VkMemoryBarrier *b, uint32_t m,
                    const VkBufferMemoryBarrier *e, uint32_t l, const VkImageMemoryBarrier *g)
{
}

static void copy(VkCommandBuffer c, VkBuffer from, VkBuffer to, uint32_t count,
                 const VkBufferCopy *r)
{
    const uint8_t *f = range((const void *)from, r->srcOffset, r->size);
    uint8_t *t = range((const void *)to, r->dstOffset, r->size);

    note("vkCmdCopyBuffer %u bytes\n", (unsigned)r->size);
    if (f && t)
        memcpy(t, f, r->size);
}

static void fill(VkCommandBuffer c, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
                 uint32_t data)
{
    uint8_t *to = range((const void *)buffer, offset, size);

    note("vkCmdFillBuffer %u bytes of 0x%x\n", (unsigned)size, data);
    if (to)
        memset(to, (int)data, size);
}

static VkResult submit(VkQueue q, uint32_t count, const VkSubmitInfo *s, VkFence fence)
{
    note("vkQueueSubmit");
    for (uint32_t i = 0; i < count; i++)
        note(" %u waits %u buffers %u signals", s[i].waitSemaphoreCount, s[i].commandBufferCount,
             s[i].signalSemaphoreCount);
    note("%s\n", fence ? " fence" : "");
    return fake.is_lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

static VkResult wait_queue(VkQueue q)
{
    note("vkQueueWaitIdle\n");
    return VK_SUCCESS;
}

static VkResult wait_device(VkDevice d)
{
    note("vkDeviceWaitIdle\n");
    return VK_SUCCESS;
}

static VkResult wait_fences(VkDevice d, uint32_t count, const VkFence *f, VkBool32 all, uint64_t t)
{
    note("vkWaitForFences %u%s\n", count, t == UINT64_MAX ? " for ever" : "");
    while (fake.hangs)
        pause();
    return VK_SUCCESS;
}

static VkResult signal(VkDevice d, const VkSemaphoreSignalInfo *info)
{
    note("vkSignalSemaphore %u\n", (unsigned)info->value);
    return VK_SUCCESS;
}

/* ---- by name ----------------------------------------------------------------------------- */

static PFN_vkVoidFunction get(void *of, const char *name);

static const struct {
    const char *name;
    void *function;
} functions[] = {
    {"vkEnumerateInstanceVersion", version},
    {"vkEnumerateInstanceExtensionProperties", no_instance_extensions},
    {"vkCreateInstance", create_instance},
    {"vkDestroyInstance", gone},
    {"vkEnumeratePhysicalDevices", physicals},
    {"vkGetPhysicalDeviceProperties", properties},
    {"vkGetPhysicalDeviceMemoryProperties", memory_properties},
    {"vkGetPhysicalDeviceQueueFamilyProperties", families},
    {"vkGetPhysicalDeviceFeatures2", features},
    {"vkGetPhysicalDeviceFormatProperties", format_properties},
    {"vkGetPhysicalDeviceImageFormatProperties", image_format},
    {"vkEnumerateDeviceExtensionProperties", device_extensions},
    {"vkCreateDevice", create_device},
    {"vkDestroyDevice", gone},
    {"vkGetDeviceProcAddr", get},
    {"vkGetDeviceQueue", get_queue},
    {"vkAllocateMemory", allocate},
    {"vkFreeMemory", release},
    {"vkMapMemory", map},
    {"vkCreateBuffer", create_buffer},
    {"vkDestroyBuffer", destroy_buffer},
    {"vkGetBufferMemoryRequirements", requirements},
    {"vkGetImageMemoryRequirements", image_requirements},
    {"vkBindBufferMemory", bind},
    {"vkBindImageMemory", bind_image},
    {"vkGetBufferDeviceAddress", address},
    {"vkCreateImage", create},
    {"vkDestroyImage", destroy},
    {"vkCreateFence", create},
    {"vkDestroyFence", destroy},
    {"vkCreateSemaphore", create},
    {"vkDestroySemaphore", destroy_semaphore},
    {"vkCreateShaderModule", create},
    {"vkDestroyShaderModule", destroy},
    {"vkCreateCommandPool", create},
    {"vkDestroyCommandPool", destroy},
    {"vkAllocateCommandBuffers", allocate_commands},
    {"vkFreeCommandBuffers", free_commands},
    {"vkBeginCommandBuffer", begin},
    {"vkEndCommandBuffer", end},
    {"vkResetCommandPool", reset_pool},
    {"vkCmdPipelineBarrier", barrier},
    {"vkCmdCopyBuffer", copy},
    {"vkCmdFillBuffer", fill},
    {"vkQueueSubmit", submit},
    {"vkQueueWaitIdle", wait_queue},
    {"vkDeviceWaitIdle", wait_device},
    {"vkWaitForFences", wait_fences},
    {"vkSignalSemaphore", signal},
};

static PFN_vkVoidFunction get(void *of, const char *name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0)
            return (PFN_vkVoidFunction)functions[i].function;
    return NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                               const char *name)
{
    return get(instance, name);
}
