/* SPDX-License-Identifier: Apache-2.0
 *
 * Debian's software driver, made to look like hardware that it is not: a driver in front of it, for
 * VK_ICD_FILENAMES. What it computes is what the software driver computes. TS_TEST_DRIVER says what
 * is different, with commas between:
 *
 *   queues     three families, four queues; all of them are the one that there is
 *   discrete   no processor, says the device
 *   aligned    offsets of uniform buffers are multiples of 4096
 *   addresses  bufferDeviceAddressCaptureReplay, for memory of its own choosing
 *   same       equal samplers have the same handle, which is destroyed as often as it was made
 *   sparse     sparse buffers, bound as a whole
 *   rays       acceleration structures that nobody builds
 *   fds        semaphores and fences after file descriptors;  mirror: timelines for CUDA, too
 *   parts      ... of batches that are not their submit's last, too: sync files only
 *   local      memory of the first type cannot be mapped
 *   dedicated  ... and all of it must be made for one resource each
 *   wrong      each dispatch is carried out many times: it ends late, and leaves something else
 *   late       each submit begins late
 *   lost=N     the Nth submit, and all after it, lose the device
 *   untimed    no timestamps;  narrow: 36 bits of them
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#include "tests/vulkan/vk_driver.h"

#define EXPORT    __attribute__((visibility("default")))
#define REAL_NAME "libvulkan_lvp.so"

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance,
                                                                          const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance,
                                                                                const char *name);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static VkInstance instances; /* the last one: they are all alike */

static void *real_library(void)
{
    static void *library;

    if (!library)
        library = dlopen(REAL_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        abort();
    return library;
}

PFN_vkVoidFunction driver_real(const char *name)
{
    static PFN_vkGetInstanceProcAddr get;

    if (!get)
        get = (PFN_vkGetInstanceProcAddr)dlsym(real_library(), "vk_icdGetInstanceProcAddr");
    return get(instances, name);
}

/* Returns the place of the word in TS_TEST_DRIVER, with what follows it. */
static const char *asked(const char *word)
{
    const char *text = getenv("TS_TEST_DRIVER");
    size_t length = strlen(word);

    for (; text && *text; text += *text == ',') {
        size_t end = strcspn(text, ",=");
        if (end == length && memcmp(text, word, length) == 0)
            return text + end;
        text += strcspn(text, ",");
    }
    return NULL;
}

static void *in_chain(const void *chain, VkStructureType type)
{
    VkBaseOutStructure *s = (VkBaseOutStructure *)(uintptr_t)chain;

    while (s && s->sType != type)
        s = s->pNext;
    return s;
}

/* ---- instance and device -------------------------------------------------------------------- */

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                           const VkAllocationCallbacks *a, VkInstance *out)
{
    VkResult result;

    instances = VK_NULL_HANDLE;
    result = REAL(vkCreateInstance)(info, a, out);
    instances = result < 0 ? VK_NULL_HANDLE : *out;
    return result;
}

static void change(VkPhysicalDeviceProperties *p)
{
    if (asked("discrete"))
        p->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (asked("aligned"))
        p->limits.minUniformBufferOffsetAlignment = 4096;
}

static void VKAPI_CALL properties(VkPhysicalDevice d, VkPhysicalDeviceProperties *out)
{
    REAL(vkGetPhysicalDeviceProperties)(d, out);
    change(out);
}

static void VKAPI_CALL properties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2 *out)
{
    REAL_KHR(vkGetPhysicalDeviceProperties2)(d, out);
    change(&out->properties);
}

/* ---- memory types --------------------------------------------------------------------------- */

static void split_types(VkPhysicalDeviceMemoryProperties *p)
{
    if (!asked("local"))
        return;
    p->memoryTypeCount = 2;
    p->memoryTypes[1] = p->memoryTypes[0];
    p->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    p->memoryTypes[1].propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                      VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
}

static void VKAPI_CALL memory_properties(VkPhysicalDevice d, VkPhysicalDeviceMemoryProperties *out)
{
    REAL(vkGetPhysicalDeviceMemoryProperties)(d, out);
    split_types(out);
}

static void VKAPI_CALL memory_properties2(VkPhysicalDevice d,
                                          VkPhysicalDeviceMemoryProperties2 *out)
{
    REAL_KHR(vkGetPhysicalDeviceMemoryProperties2)(d, out);
    split_types(&out->memoryProperties);
}

static void VKAPI_CALL buffer_needs(VkDevice d, VkBuffer buffer, VkMemoryRequirements *out)
{
    REAL(vkGetBufferMemoryRequirements)(d, buffer, out);
    out->memoryTypeBits = 3;
}

static void VKAPI_CALL image_needs(VkDevice d, VkImage image, VkMemoryRequirements *out)
{
    REAL(vkGetImageMemoryRequirements)(d, image, out);
    out->memoryTypeBits = 3;
}

static void VKAPI_CALL buffer_needs2(VkDevice d, const VkBufferMemoryRequirementsInfo2 *info,
                                     VkMemoryRequirements2 *out)
{
    REAL_KHR(vkGetBufferMemoryRequirements2)(d, info, out);
    out->memoryRequirements.memoryTypeBits = 3;
    dedicated_require(out->pNext);
}

static void VKAPI_CALL image_needs2(VkDevice d, const VkImageMemoryRequirementsInfo2 *info,
                                    VkMemoryRequirements2 *out)
{
    REAL_KHR(vkGetImageMemoryRequirements2)(d, info, out);
    out->memoryRequirements.memoryTypeBits = 3;
    dedicated_require(out->pNext);
}

/* Features that the driver does not have, where they are asked for. */
static void show(const void *chain, VkBool32 shown)
{
    VkPhysicalDeviceVulkan12Features *v12 =
        in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    VkPhysicalDeviceBufferDeviceAddressFeatures *address =
        in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    VkPhysicalDeviceAccelerationStructureFeaturesKHR *rays =
        in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR);

    if (v12 && asked("addresses"))
        v12->bufferDeviceAddressCaptureReplay = shown;
    if (address && asked("addresses"))
        address->bufferDeviceAddressCaptureReplay = shown;
    if (rays && asked("rays"))
        rays->accelerationStructure = shown;
}

static void VKAPI_CALL features(VkPhysicalDevice d, VkPhysicalDeviceFeatures *out)
{
    REAL(vkGetPhysicalDeviceFeatures)(d, out);
    out->sparseBinding = asked("sparse") != NULL;
}

static void VKAPI_CALL features2(VkPhysicalDevice d, VkPhysicalDeviceFeatures2 *out)
{
    REAL_KHR(vkGetPhysicalDeviceFeatures2)(d, out);
    out->features.sparseBinding = asked("sparse") != NULL;
    show(out, VK_TRUE);
}

static const char *const ray_names[] = {VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
                                        VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME};
static const char *const fd_names[] = {VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
                                       VK_KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME};

/* One of those that we stand in for. */
static bool is_ours(const char *name)
{
    for (uint32_t i = 0; i < 2; i++)
        if ((asked("rays") && strcmp(name, ray_names[i]) == 0) ||
            (asked("fds") && strcmp(name, fd_names[i]) == 0))
            return true;
    return false;
}

static VkResult VKAPI_CALL extensions(VkPhysicalDevice d, const char *layer, uint32_t *count,
                                      VkExtensionProperties *out)
{
    const char *const *more = asked("rays") ? ray_names : fd_names;
    uint32_t room = *count, had = 0;
    VkResult result;

    REAL(vkEnumerateDeviceExtensionProperties)(d, layer, &had, NULL);
    if (!asked("rays") && !asked("fds"))
        return REAL(vkEnumerateDeviceExtensionProperties)(d, layer, count, out);
    *count = had + 2;
    if (!out)
        return VK_SUCCESS;
    if (room < *count)
        return VK_INCOMPLETE;
    result = REAL(vkEnumerateDeviceExtensionProperties)(d, layer, &had, out);
    for (uint32_t i = 0; i < 2; i++) {
        memset(&out[had + i], 0, sizeof(*out));
        strcpy(out[had + i].extensionName, more[i]);
    }
    return result;
}

/* Creates a device. Structs that the driver does not know are hidden from it. */
static VkResult VKAPI_CALL create_device(VkPhysicalDevice d, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *a, VkDevice *out)
{
    static const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkPhysicalDeviceFeatures enabled =
        info->pEnabledFeatures ? *info->pEnabledFeatures : (VkPhysicalDeviceFeatures){0};
    const char *names[64];
    VkDeviceCreateInfo own = *info;
    VkResult result;

    show(info->pNext, VK_FALSE);
    own.enabledExtensionCount = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount && i < 64; i++)
        if (!is_ours(info->ppEnabledExtensionNames[i]))
            names[own.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    own.ppEnabledExtensionNames = names;
    enabled.sparseBinding = VK_FALSE;
    if (info->pEnabledFeatures)
        own.pEnabledFeatures = &enabled;
    own.queueCreateInfoCount = 1;
    own.pQueueCreateInfos = &queue;
    result = REAL(vkCreateDevice)(d, &own, a, out);
    show(info->pNext, VK_TRUE);
    return result;
}

/* ---- queues --------------------------------------------------------------------------------- */

#define FAMILY_COUNT 3u
#define QUEUE_COUNT  64u

static struct queue {
    VK_LOADER_DATA loader; /* first */
    VkDevice device;
    uint32_t family, index;
    VkQueue real;
} queues[QUEUE_COUNT];
static uint32_t queue_count, submit_count;

static const VkQueueFamilyProperties families[FAMILY_COUNT] = {
    {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 2, 64, {1, 1, 1}},
    {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}},
    {VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT, 1, 64, {1, 1, 1}}};

static uint32_t family_count(void)
{
    return asked("queues") || asked("sparse") ? FAMILY_COUNT : 1;
}

static void VKAPI_CALL family_properties(VkPhysicalDevice d, uint32_t *count,
                                         VkQueueFamilyProperties *out)
{
    if (!out || *count > family_count())
        *count = family_count();
    for (uint32_t i = 0; out && i < *count; i++) {
        out[i] = families[i];
        out[i].timestampValidBits = asked("untimed") ? 0 : asked("narrow") ? 36 : 64;
    }
}

static void VKAPI_CALL family_properties2(VkPhysicalDevice d, uint32_t *count,
                                          VkQueueFamilyProperties2 *out)
{
    if (!out || *count > family_count())
        *count = family_count();
    for (uint32_t i = 0; out && i < *count; i++)
        out[i].queueFamilyProperties = families[i];
}

static void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    struct queue *q = queues;

    pthread_mutex_lock(&lock);
    while (q < queues + queue_count &&
           (q->device != device || q->family != family || q->index != index))
        q++;
    if (q == queues + queue_count) {
        if (queue_count++ == QUEUE_COUNT)
            abort();
        q->device = device;
        q->family = family;
        q->index = index;
        set_loader_magic_value(q);
        REAL(vkGetDeviceQueue)(device, 0, 0, &q->real);
    }
    pthread_mutex_unlock(&lock);
    *out = (VkQueue)(void *)q;
}

static void VKAPI_CALL get_queue2(VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    get_queue(device, info->queueFamilyIndex, info->queueIndex, out);
}

static VkQueue real_queue(VkQueue queue)
{
    return ((struct queue *)(void *)queue)->real;
}

static void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *a)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].device == device)
            queues[i].device = VK_NULL_HANDLE; /* not taken again: its address stays its own */
    pthread_mutex_unlock(&lock);
    fds_device_destroyed();
    late_device_gone(device);
    REAL(vkDestroyDevice)(device, a);
}

static VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                       const VkAllocationCallbacks *a, VkCommandPool *out)
{
    VkCommandPoolCreateInfo own = *info;

    own.queueFamilyIndex = 0;
    return REAL(vkCreateCommandPool)(device, &own, a, out);
}

static bool is_lost(uint32_t more)
{
    const char *at = asked("lost");
    uint32_t count = __atomic_add_fetch(&submit_count, more, __ATOMIC_RELAXED);

    return at && *at == '=' && count >= (uint32_t)atoi(at + 1);
}

#define SEMAPHORES_MAX 16u

/* Replaces the semaphores, without those of other processes. */
static uint32_t translate(VkSemaphore *out, const VkSemaphore *semaphores, uint32_t count)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < count && i < SEMAPHORES_MAX; i++)
        if (fds_semaphore(semaphores[i]))
            out[used++] = fds_semaphore(semaphores[i]);
    return used;
}

static VkResult submit_translated(VkDevice device, VkQueue queue, uint32_t count,
                                  const VkSubmitInfo *infos, VkFence fence)
{
    VkResult result = VK_SUCCESS;

    for (uint32_t i = 0; (i < count || i == 0) && result >= 0; i++) {
        VkSubmitInfo info = count ? infos[i] : (VkSubmitInfo){0};
        VkSemaphore waits[SEMAPHORES_MAX], signals[SEMAPHORES_MAX];
        info.waitSemaphoreCount = translate(waits, info.pWaitSemaphores, info.waitSemaphoreCount);
        info.signalSemaphoreCount =
            translate(signals, info.pSignalSemaphores, info.signalSemaphoreCount);
        info.pWaitSemaphores = waits;
        info.pSignalSemaphores = signals;
        VkFence behind = i + 1 >= count && fence ? fds_fence(fence) : VK_NULL_HANDLE;
        if (asked("parts") && i + 1 < count && info.signalSemaphoreCount == 1) {
            info.signalSemaphoreCount = 0;
            behind = fds_early(device, signals[0]);
        }
        result = REAL(vkQueueSubmit)(queue, count > 0, &info, behind);
    }
    return result;
}

VkResult driver_submit(VkDevice device, const VkSubmitInfo *info, VkFence fence)
{
    VkQueue queue;
    VkResult result;

    REAL(vkGetDeviceQueue)(device, 0, 0, &queue);
    pthread_mutex_lock(&lock);
    result = REAL(vkQueueSubmit)(queue, info != NULL, info, fence);
    pthread_mutex_unlock(&lock);
    return result;
}

static void begin_late(VkQueue queue)
{
    if (asked("late"))
        late_begin(((struct queue *)(void *)queue)->device);
}

static VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                  VkFence fence)
{
    VkResult result;

    if (is_lost(1))
        return VK_ERROR_DEVICE_LOST;
    begin_late(queue);
    pthread_mutex_lock(&lock);
    result = asked("fds") ? submit_translated(((struct queue *)(void *)queue)->device,
                                              real_queue(queue), count, infos, fence)
                          : REAL(vkQueueSubmit)(real_queue(queue), count, infos, fence);
    pthread_mutex_unlock(&lock);
    return result;
}

static VkResult VKAPI_CALL submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *infos,
                                   VkFence fence)
{
    VkResult result;

    if (is_lost(1))
        return VK_ERROR_DEVICE_LOST;
    begin_late(queue);
    pthread_mutex_lock(&lock);
    result = REAL_KHR(vkQueueSubmit2)(real_queue(queue), count, infos, fence);
    pthread_mutex_unlock(&lock);
    return result;
}

static void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    for (uint32_t i = 0; i < 501; i++)
        REAL(vkCmdDispatch)(commands, x, y, z);
}

static VkResult VKAPI_CALL wait_queue(VkQueue queue)
{
    return is_lost(0) ? VK_ERROR_DEVICE_LOST : REAL(vkQueueWaitIdle)(real_queue(queue));
}

static VkResult VKAPI_CALL wait_device(VkDevice device)
{
    return is_lost(0) ? VK_ERROR_DEVICE_LOST : REAL(vkDeviceWaitIdle)(device);
}

static VkResult VKAPI_CALL present(VkQueue queue, const VkPresentInfoKHR *info)
{
    return REAL(vkQueuePresentKHR)(real_queue(queue), info);
}

/* ---- sparse buffers ------------------------------------------------------------------------- */

static VkResult VKAPI_CALL bind_sparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                       VkFence fence)
{
    VkSubmitInfo submits[16] = {0};

    for (uint32_t i = 0; i < count && i < 16; i++) {
        static const VkPipelineStageFlags stages[16];
        submits[i] = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                    .pNext = infos[i].pNext,
                                    .waitSemaphoreCount = infos[i].waitSemaphoreCount,
                                    .pWaitSemaphores = infos[i].pWaitSemaphores,
                                    .pWaitDstStageMask = stages,
                                    .signalSemaphoreCount = infos[i].signalSemaphoreCount,
                                    .pSignalSemaphores = infos[i].pSignalSemaphores};
        for (uint32_t j = 0; j < infos[i].bufferBindCount; j++) {
            const VkSparseBufferMemoryBindInfo *b = &infos[i].pBufferBinds[j];
            if (b->bindCount != 1 || b->pBinds[0].resourceOffset != 0)
                abort();
            REAL(vkBindBufferMemory)
            (((struct queue *)(void *)queue)->device, b->buffer, b->pBinds[0].memory,
             b->pBinds[0].memoryOffset);
        }
    }
    return submit(queue, count, submits, fence);
}

/* ---- addresses ------------------------------------------------------------------------------ */

#define BUFFER_REPLAY VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT
#define MEMORY_REPLAY VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT

static struct placed {
    VkDeviceMemory memory;
    void *at;
    uint64_t size;
} placed[64];

static VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                         const VkAllocationCallbacks *a, VkBuffer *out)
{
    VkBufferCreateInfo own = *info;

    own.flags &= ~(VkBufferCreateFlags)(BUFFER_REPLAY | VK_BUFFER_CREATE_SPARSE_BINDING_BIT);
    return REAL(vkCreateBuffer)(device, &own, a, out);
}

static struct placed *find_placed(VkDeviceMemory memory)
{
    for (size_t i = 0; i < sizeof(placed) / sizeof(placed[0]); i++)
        if (placed[i].memory == memory)
            return &placed[i];
    return NULL;
}

/* Allocates where memory is asked to lie, or anywhere. */
static VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                    const VkAllocationCallbacks *a, VkDeviceMemory *out)
{
    const VkMemoryAllocateFlagsInfo *flags =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    const VkMemoryOpaqueCaptureAddressAllocateInfo *wanted =
        in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO);
    void *at = wanted ? (void *)(uintptr_t)wanted->opaqueCaptureAddress : NULL;
    VkImportMemoryHostPointerInfoEXT import = {
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, NULL,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, NULL};
    VkMemoryAllocateInfo own = *info;
    uint64_t size = (info->allocationSize + 4095) & ~(uint64_t)4095;
    VkResult result;

    if (asked("local"))
        own.memoryTypeIndex = 0; /* the only one */
    if (!asked("addresses") || !flags || !(flags->flags & MEMORY_REPLAY))
        return dedicated_allocate(device, &own, a, out);
    import.pHostPointer = mmap(at, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (import.pHostPointer == MAP_FAILED)
        return VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    own.pNext = &import;
    own.allocationSize = size;
    result = REAL(vkAllocateMemory)(device, &own, a, out);
    pthread_mutex_lock(&lock);
    if (result >= 0)
        *find_placed(VK_NULL_HANDLE) = (struct placed){*out, import.pHostPointer, size};
    pthread_mutex_unlock(&lock);
    return result;
}

static void VKAPI_CALL release(VkDevice device, VkDeviceMemory memory,
                               const VkAllocationCallbacks *a)
{
    struct placed *p = memory ? find_placed(memory) : NULL;

    dedicated_gone(memory);
    REAL(vkFreeMemory)(device, memory, a);
    if (p) {
        munmap(p->at, p->size);
        p->memory = VK_NULL_HANDLE;
    }
}

static uint64_t VKAPI_CALL buffer_opaque(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    return 1; /* where its memory lies is enough */
}

static uint64_t VKAPI_CALL memory_opaque(VkDevice device,
                                         const VkDeviceMemoryOpaqueCaptureAddressInfo *info)
{
    const struct placed *p = find_placed(info->memory);

    return p ? (uint64_t)(uintptr_t)p->at : 0;
}

/* ---- fences and semaphores ------------------------------------------------------------------ */

/* Waits for fences. Those of other processes are signalled. */
static VkResult VKAPI_CALL wait_fences(VkDevice device, uint32_t count, const VkFence *fences,
                                       VkBool32 all, uint64_t timeout)
{
    VkResult result = VK_SUCCESS;

    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        VkFence fence = fds_fence(fences[i]);
        if (fence)
            result = REAL(vkWaitForFences)(device, 1, &fence, all, timeout);
    }
    return result;
}

static VkResult VKAPI_CALL fence_status(VkDevice device, VkFence fence)
{
    return fds_fence(fence) ? REAL(vkGetFenceStatus)(device, fds_fence(fence)) : VK_SUCCESS;
}

/* Without what the driver knows nothing of. */
static VkResult VKAPI_CALL create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                            const VkAllocationCallbacks *a, VkSemaphore *out)
{
    VkSemaphoreCreateInfo own = *info;

    if (in_chain(own.pNext, VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO))
        own.pNext = NULL;
    return REAL(vkCreateSemaphore)(device, &own, a, out);
}

static VkResult VKAPI_CALL create_fence(VkDevice device, const VkFenceCreateInfo *info,
                                        const VkAllocationCallbacks *a, VkFence *out)
{
    VkFenceCreateInfo own = *info;

    own.pNext = NULL;
    return REAL(vkCreateFence)(device, &own, a, out);
}

static void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                         const VkAllocationCallbacks *a)
{
    mirror_end(semaphore);
    fds_forget((uint64_t)(uintptr_t)semaphore);
    REAL(vkDestroySemaphore)(device, semaphore, a);
}

static void VKAPI_CALL destroy_fence(VkDevice device, VkFence fence, const VkAllocationCallbacks *a)
{
    fds_forget((uint64_t)(uintptr_t)fence);
    REAL(vkDestroyFence)(device, fence, a);
}

/* ---- samplers ------------------------------------------------------------------------------- */

static struct shared {
    VkSamplerCreateInfo info;
    VkSampler sampler;
    uint32_t count;
} samplers[8];

static VkResult VKAPI_CALL create_sampler(VkDevice device, const VkSamplerCreateInfo *info,
                                          const VkAllocationCallbacks *a, VkSampler *out)
{
    VkResult result = VK_SUCCESS;
    struct shared *s = samplers;

    if (!asked("same"))
        return REAL(vkCreateSampler)(device, info, a, out);
    while (s->count && memcmp(&s->info, info, sizeof(*info)) != 0)
        s++;
    if (!s->count)
        result = REAL(vkCreateSampler)(device, info, a, &s->sampler);
    s->info = *info;
    s->count++;
    *out = s->sampler;
    return result;
}

static void VKAPI_CALL destroy_sampler(VkDevice device, VkSampler sampler,
                                       const VkAllocationCallbacks *a)
{
    for (struct shared *s = samplers; s < samplers + 8; s++)
        if (s->count && s->sampler == sampler && --s->count)
            return;
    REAL(vkDestroySampler)(device, sampler, a);
}

/* ---- by name -------------------------------------------------------------------------------- */

static PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name);

static const struct {
    const char *name, *when; /* asked for that, NULL: always */
    void *function;
} functions[] = {
    {"vkCreateInstance", NULL, create_instance},
    {"vkGetDeviceProcAddr", NULL, get_device},
    {"vkGetPhysicalDeviceProperties", NULL, properties},
    {"vkGetPhysicalDeviceProperties2", NULL, properties2},
    {"vkGetPhysicalDeviceProperties2KHR", NULL, properties2},
    {"vkGetPhysicalDeviceFeatures", NULL, features},
    {"vkGetPhysicalDeviceFeatures2", NULL, features2},
    {"vkGetPhysicalDeviceFeatures2KHR", NULL, features2},
    {"vkGetPhysicalDeviceQueueFamilyProperties", NULL, family_properties},
    {"vkGetPhysicalDeviceQueueFamilyProperties2", NULL, family_properties2},
    {"vkGetPhysicalDeviceQueueFamilyProperties2KHR", NULL, family_properties2},
    {"vkEnumerateDeviceExtensionProperties", NULL, extensions},
    {"vkGetPhysicalDeviceMemoryProperties", "local", memory_properties},
    {"vkGetPhysicalDeviceMemoryProperties2", "local", memory_properties2},
    {"vkGetPhysicalDeviceMemoryProperties2KHR", "local", memory_properties2},
    {"vkGetBufferMemoryRequirements", "local", buffer_needs},
    {"vkGetBufferMemoryRequirements2", "local", buffer_needs2},
    {"vkGetBufferMemoryRequirements2KHR", "local", buffer_needs2},
    {"vkGetImageMemoryRequirements", "local", image_needs},
    {"vkGetImageMemoryRequirements2", "local", image_needs2},
    {"vkGetImageMemoryRequirements2KHR", "local", image_needs2},
    {"vkCreateDevice", NULL, create_device},
    {"vkDestroyDevice", NULL, destroy_device},
    {"vkGetDeviceQueue", NULL, get_queue},
    {"vkGetDeviceQueue2", NULL, get_queue2},
    {"vkCreateCommandPool", NULL, create_pool},
    {"vkQueueSubmit", NULL, submit},
    {"vkQueueSubmit2", NULL, submit2},
    {"vkQueueSubmit2KHR", NULL, submit2},
    {"vkCmdDispatch", "wrong", dispatch},
    {"vkQueueWaitIdle", NULL, wait_queue},
    {"vkDeviceWaitIdle", NULL, wait_device},
    {"vkQueuePresentKHR", NULL, present},
    {"vkQueueBindSparse", NULL, bind_sparse},
    {"vkCreateBuffer", NULL, create_buffer},
    {"vkAllocateMemory", NULL, allocate},
    {"vkFreeMemory", NULL, release},
    {"vkBindBufferMemory", NULL, dedicated_bind_buffer},
    {"vkBindImageMemory", NULL, dedicated_bind_image},
    {"vkBindBufferMemory2", NULL, dedicated_bind_buffers},
    {"vkBindBufferMemory2KHR", NULL, dedicated_bind_buffers},
    {"vkBindImageMemory2", NULL, dedicated_bind_images},
    {"vkBindImageMemory2KHR", NULL, dedicated_bind_images},
    {"vkGetBufferOpaqueCaptureAddress", "addresses", buffer_opaque},
    {"vkGetBufferOpaqueCaptureAddressKHR", "addresses", buffer_opaque},
    {"vkGetDeviceMemoryOpaqueCaptureAddress", "addresses", memory_opaque},
    {"vkGetDeviceMemoryOpaqueCaptureAddressKHR", "addresses", memory_opaque},
    {"vkCreateSampler", NULL, create_sampler},
    {"vkDestroySampler", NULL, destroy_sampler},
    {"vkWaitForFences", "fds", wait_fences},
    {"vkGetFenceStatus", "fds", fence_status},
    {"vkCreateSemaphore", "fds", create_semaphore},
    {"vkCreateFence", "fds", create_fence},
    {"vkDestroySemaphore", "fds", destroy_semaphore},
    {"vkDestroyFence", "fds", destroy_fence},
    {"vkGetSemaphoreFdKHR", "fds", fds_get_semaphore},
    {"vkImportSemaphoreFdKHR", "fds", fds_import_semaphore},
    {"vkGetFenceFdKHR", "fds", fds_get_fence},
    {"vkImportFenceFdKHR", "fds", fds_import_fence},
    {"vkCreateAccelerationStructureKHR", "rays", rays_create},
    {"vkDestroyAccelerationStructureKHR", "rays", rays_destroy},
    {"vkCmdBuildAccelerationStructuresKHR", "rays", rays_build},
};

/* Not those of extensions and versions that nobody has asked the real one for. */
static PFN_vkVoidFunction find(const char *name, PFN_vkVoidFunction there)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0 &&
            (functions[i].when ? asked(functions[i].when) != NULL : there != NULL))
            return (PFN_vkVoidFunction)functions[i].function;
    return there;
}

static PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name)
{
    return find(name, REAL(vkGetDeviceProcAddr)(device, name));
}

VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version)
{
    PFN_vkNegotiateLoaderICDInterfaceVersion next = (PFN_vkNegotiateLoaderICDInterfaceVersion)dlsym(
        real_library(), "vk_icdNegotiateLoaderICDInterfaceVersion");

    return next(version);
}

PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name)
{
    return find(name, driver_real(name));
}

PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name)
{
    static PFN_vkGetInstanceProcAddr next;

    if (!next)
        next = (PFN_vkGetInstanceProcAddr)dlsym(real_library(), "vk_icdGetPhysicalDeviceProcAddr");
    return find(name, next(instance, name));
}
