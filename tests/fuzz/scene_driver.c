/* SPDX-License-Identifier: Apache-2.0
 *
 * A Vulkan driver that does nothing, for all commands that the registry has: it reads whatever it
 * is given, as a driver would (a sanitizer looks), and gives out handles. Memory and sizes are
 * real, since replay writes there. Linked into the program that replays, which opens itself.
 */
#include "tests/fuzz/scene_driver.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/vulkan/tables/codec.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_ids.h"

#define EXPORT     __attribute__((visibility("default")))
#define REGISTERS  16u
#define ARGS_SIZE  256u
#define MEMORY_MAX (1u << 20)
#define FAMILIES   3u
#define READ_ROOM  (1u << 18)

struct scene_driver scene_driver;

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance i,
                                                                      const char *name);

/* Handle of memory, of a buffer, of an image. */
struct thing {
    uint64_t size;
    uint8_t bytes[];
};

static uint64_t next_handle = 0x1000;

static struct thing *thing_make(uint64_t size, uint64_t room)
{
    struct thing *t = calloc(1, sizeof(*t) + room);

    if (!t)
        abort();
    t->size = size;
    return t;
}

/* ---- what is asked of the device ------------------------------------------------------------ */

static VkResult list_extensions(uint32_t *count, VkExtensionProperties *out)
{
    static const char *const names[] = {
        "VK_KHR_surface",
        "VK_KHR_swapchain",
        "VK_EXT_debug_utils",
        "VK_KHR_push_descriptor",
        "VK_KHR_dynamic_rendering",
        "VK_KHR_synchronization2",
        "VK_KHR_timeline_semaphore",
        "VK_EXT_external_memory_host",
        "VK_KHR_external_memory_fd",
        "VK_KHR_external_semaphore_fd",
        "VK_KHR_external_fence_fd",
        "VK_EXT_extended_dynamic_state",
        "VK_EXT_calibrated_timestamps",
        "VK_KHR_get_physical_device_properties2",
    };
    uint32_t there = sizeof(names) / sizeof(names[0]);

    for (uint32_t i = 0; out && i < there && i < *count; i++)
        strcpy(out[i].extensionName, names[i]);
    if (!out || *count > there)
        *count = there;
    return VK_SUCCESS;
}

static void tell_properties(VkPhysicalDeviceProperties *out)
{
    memset(out, 0, sizeof(*out));
    strcpy(out->deviceName, "nothing");
    out->apiVersion = VK_API_VERSION_1_3;
    out->limits.maxPushConstantsSize = 256;
    out->limits.maxBoundDescriptorSets = 8;
    out->limits.nonCoherentAtomSize = out->limits.minMemoryMapAlignment = 64;
    for (int i = 0; i < 3; i++)
        out->limits.maxComputeWorkGroupCount[i] = 65535;
}

static void tell_memory(VkPhysicalDeviceMemoryProperties *out)
{
    memset(out, 0, sizeof(*out));
    out->memoryHeapCount = 1;
    out->memoryHeaps[0].size = 1u << 30;
    out->memoryTypeCount = scene_driver.apart ? 2 : 1;
    out->memoryTypes[0].propertyFlags = scene_driver.apart ? 1 : 0xf;
    out->memoryTypes[1].propertyFlags = scene_driver.apart ? 0xe : 0;
}

static void tell_families(uint32_t *count, VkQueueFamilyProperties *out)
{
    for (uint32_t i = 0; out && i < *count && i < FAMILIES; i++)
        out[i] =
            (VkQueueFamilyProperties){.queueFlags = 0xf, .queueCount = 4, .timestampValidBits = 64};
    *count = FAMILIES;
}

/* All of them are there: the numbers of a struct of features are nothing but that. */
static void tell_features(VkPhysicalDeviceFeatures2 *out)
{
    VkBool32 *all = (VkBool32 *)&out->features;

    for (size_t i = 0; i < sizeof(out->features) / sizeof(*all); i++)
        all[i] = VK_TRUE;
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        const struct vk_struct *type = vk_struct_of((int32_t)s->sType);
        for (uint32_t i = 0; type && i < type->member_count; i++) {
            const struct vk_member *m = &vk_members[type->first + i];
            if (m->kind == VK_KIND_BOOL && m->form == VK_FORM_ONE)
                vk_store((char *)s + m->offset, 4, VK_TRUE);
        }
    }
}

static VkMemoryRequirements requirements(uint64_t handle)
{
    const struct thing *t = (const void *)(uintptr_t)handle;

    return (VkMemoryRequirements){t->size, 4, scene_driver.apart ? 3 : 1};
}

/* ---- objects ----------------------------------------------------------------------------------
 */

static uint64_t image_size(const VkImageCreateInfo *i)
{
    uint64_t size = 1;
    const uint64_t by[] = {i->extent.width, i->extent.height, i->extent.depth, i->arrayLayers};

    for (int k = 0; k < 4; k++)
        size = by[k] && size < MEMORY_MAX / by[k] ? size * by[k] : MEMORY_MAX;
    return size;
}

static VkResult allocate(const struct vk_args_vkAllocateMemory *a)
{
    uint64_t size = a->pAllocateInfo->allocationSize;

    if (size > 16 * MEMORY_MAX)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    *a->pMemory = (VkDeviceMemory)(uintptr_t)thing_make(size, size);
    return VK_SUCCESS;
}

static void give_handles(const struct vk_command *command, const void *args)
{
    const struct vk_member *siblings = &vk_arguments[command->first];

    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &siblings[i];
        uint64_t *out, count;
        if (m->kind != VK_KIND_HANDLE || !(m->flags & VK_MEMBER_OUT) || m->form == VK_FORM_ONE)
            continue;
        memcpy(&out, (const char *)args + m->offset, sizeof(out));
        count = m->list ? vk_member_count(m, siblings, args) : 1;
        for (uint64_t k = 0; out && k < count; k++)
            out[k] = next_handle += 16;
    }
}

/* ---- every command ------------------------------------------------------------------------------
 */

static void read_all(const struct vk_command *command, const void *args)
{
    static _Thread_local uint8_t room[READ_ROOM];

    for (uint32_t place = 0; place < command->argument_count; place++) {
        const struct vk_member *m = &vk_arguments[command->first + place];
        struct vk_encoder e;
        if ((m->flags & VK_MEMBER_OUT) ||
            (!m->list && (m->kind != VK_KIND_STRUCT || m->form != VK_FORM_POINTER)))
            continue;
        vk_encoder_init(&e, room, READ_ROOM);
        vk_encode_argument(&e, command, place, args);
    }
}

#define AS(name) const struct vk_args_##name *a = args

/* Answers questions about the loader and devices. VK_NOT_READY: it is no such command. */
static VkResult answer_facts(uint32_t place, const void *args)
{
    switch (place) {
    case VK_COMMAND_vkEnumerateInstanceVersion: {
        AS(vkEnumerateInstanceVersion);
        *a->pApiVersion = VK_API_VERSION_1_3;
        break;
    }
    case VK_COMMAND_vkEnumerateInstanceExtensionProperties: {
        AS(vkEnumerateInstanceExtensionProperties);
        return list_extensions(a->pPropertyCount, a->pProperties);
    }
    case VK_COMMAND_vkEnumerateDeviceExtensionProperties: {
        AS(vkEnumerateDeviceExtensionProperties);
        return list_extensions(a->pPropertyCount, a->pProperties);
    }
    case VK_COMMAND_vkEnumerateInstanceLayerProperties: {
        AS(vkEnumerateInstanceLayerProperties);
        *a->pPropertyCount = 0;
        break;
    }
    case VK_COMMAND_vkEnumeratePhysicalDevices: {
        AS(vkEnumeratePhysicalDevices);
        *a->pPhysicalDeviceCount = 1;
        if (a->pPhysicalDevices)
            *a->pPhysicalDevices = (VkPhysicalDevice)(uintptr_t)0x10;
        break;
    }
    case VK_COMMAND_vkGetPhysicalDeviceProperties: {
        AS(vkGetPhysicalDeviceProperties);
        tell_properties(a->pProperties);
        break;
    }
    case VK_COMMAND_vkGetPhysicalDeviceProperties2: {
        AS(vkGetPhysicalDeviceProperties2);
        tell_properties(&a->pProperties->properties);
        break;
    }
    case VK_COMMAND_vkGetPhysicalDeviceMemoryProperties: {
        AS(vkGetPhysicalDeviceMemoryProperties);
        tell_memory(a->pMemoryProperties);
        break;
    }
    case VK_COMMAND_vkGetPhysicalDeviceQueueFamilyProperties: {
        AS(vkGetPhysicalDeviceQueueFamilyProperties);
        tell_families(a->pQueueFamilyPropertyCount, a->pQueueFamilyProperties);
        break;
    }
    case VK_COMMAND_vkGetPhysicalDeviceFeatures2: {
        AS(vkGetPhysicalDeviceFeatures2);
        tell_features(a->pFeatures);
        break;
    }
    case VK_COMMAND_vkGetPhysicalDeviceImageFormatProperties: {
        AS(vkGetPhysicalDeviceImageFormatProperties);
        *a->pImageFormatProperties =
            (VkImageFormatProperties){{4096, 4096, 256}, 13, 256, 0x7f, 1u << 30};
        break;
    }
    default:
        return VK_NOT_READY;
    }
    return VK_SUCCESS;
}

static VkResult answer(uint32_t place, const void *args)
{
    VkResult told = answer_facts(place, args);

    if (told != VK_NOT_READY)
        return told;
    switch (place) {
    case VK_COMMAND_vkAllocateMemory:
        return allocate(args);
    case VK_COMMAND_vkFreeMemory: {
        AS(vkFreeMemory);
        free((void *)(uintptr_t)a->memory);
        break;
    }
    case VK_COMMAND_vkMapMemory: {
        AS(vkMapMemory);
        *a->ppData = ((struct thing *)(uintptr_t)a->memory)->bytes + a->offset;
        break;
    }
    case VK_COMMAND_vkCreateBuffer: {
        AS(vkCreateBuffer);
        *a->pBuffer = (VkBuffer)(uintptr_t)thing_make(a->pCreateInfo->size, 0);
        break;
    }
    case VK_COMMAND_vkDestroyBuffer: {
        AS(vkDestroyBuffer);
        free((void *)(uintptr_t)a->buffer);
        break;
    }
    case VK_COMMAND_vkGetBufferMemoryRequirements: {
        AS(vkGetBufferMemoryRequirements);
        *a->pMemoryRequirements = requirements((uint64_t)a->buffer);
        break;
    }
    case VK_COMMAND_vkCreateImage: {
        AS(vkCreateImage);
        *a->pImage = (VkImage)(uintptr_t)thing_make(image_size(a->pCreateInfo), 0);
        break;
    }
    case VK_COMMAND_vkDestroyImage: {
        AS(vkDestroyImage);
        free((void *)(uintptr_t)a->image);
        break;
    }
    case VK_COMMAND_vkGetImageMemoryRequirements: {
        AS(vkGetImageMemoryRequirements);
        *a->pMemoryRequirements = requirements((uint64_t)a->image);
        break;
    }
    case VK_COMMAND_vkGetSemaphoreCounterValue: {
        AS(vkGetSemaphoreCounterValue);
        *a->pValue = UINT64_MAX / 2;
        break;
    }
    default:
        give_handles(&vk_commands[place], args);
    }
    return VK_SUCCESS;
}

/* Numbers come in registers, then on the stack; those that are no integers elsewhere. */
static uint64_t called(uint32_t place, const uint64_t *registers)
{
    const struct vk_command *command = &vk_commands[place];
    _Alignas(16) uint8_t args[ARGS_SIZE] = {0};

    scene_driver.calls++;
    for (uint32_t i = 0, k = 0; i < command->argument_count && k < REGISTERS; i++) {
        const struct vk_member *m = &vk_arguments[command->first + i];
        bool one = m->form == VK_FORM_ONE;
        if (one && (m->kind == VK_KIND_F32 || m->kind == VK_KIND_F64))
            continue;
        if (one && m->kind != VK_KIND_STRUCT)
            vk_store(args + m->offset, vk_value_size(m), registers[k]);
        else if (!one && m->form != VK_FORM_ARRAY)
            vk_store(args + m->offset, 8, registers[k]);
        k++;
    }
    read_all(command, args);
    return (uint64_t)answer(place, args);
}

#define STUB(n)                                                                                    \
    static uint64_t VKAPI_CALL stub_##n(uint64_t a, uint64_t b, uint64_t c, uint64_t d,            \
                                        uint64_t e, uint64_t f, uint64_t g, uint64_t h,            \
                                        uint64_t i, uint64_t j, uint64_t k, uint64_t l,            \
                                        uint64_t m, uint64_t o, uint64_t p, uint64_t q)            \
    {                                                                                              \
        const uint64_t registers[REGISTERS] = {a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q};    \
        return called(0x##n, registers);                                                           \
    }
#define NAME(n) (void *)stub_##n,
/* clang-format off */
#define ROW(X, n) \
    X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) \
    X(n##8) X(n##9) X(n##a) X(n##b) X(n##c) X(n##d) X(n##e) X(n##f)
#define PAGE(X, n) \
    ROW(X, n##0) ROW(X, n##1) ROW(X, n##2) ROW(X, n##3) ROW(X, n##4) ROW(X, n##5) ROW(X, n##6) ROW(X, n##7) \
    ROW(X, n##8) ROW(X, n##9) ROW(X, n##a) ROW(X, n##b) ROW(X, n##c) ROW(X, n##d) ROW(X, n##e) ROW(X, n##f)
#define ALL(X) PAGE(X, 0) PAGE(X, 1) PAGE(X, 2)
/* clang-format on */

ALL(STUB)
static void *const stubs[] = {ALL(NAME)};

/* By names, sorted at first. */
static int by_name(const void *x, const void *y)
{
    return strcmp(vk_name(vk_commands[*(const uint32_t *)x].name),
                  vk_name(vk_commands[*(const uint32_t *)y].name));
}

static int named(const void *name, const void *place)
{
    return strcmp(name, vk_name(vk_commands[*(const uint32_t *)place].name));
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                               const char *name)
{
    static uint32_t sorted[sizeof(stubs) / sizeof(stubs[0])];
    const uint32_t *place;

    if (vk_command_count > sizeof(stubs) / sizeof(stubs[0]))
        abort();
    for (uint32_t i = 0; !scene_driver.is_sorted && i < vk_command_count; i++)
        sorted[i] = i;
    if (!scene_driver.is_sorted)
        qsort(sorted, vk_command_count, sizeof(sorted[0]), by_name);
    scene_driver.is_sorted = true;
    if (strcmp(name, "vkGetInstanceProcAddr") == 0 || strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)vkGetInstanceProcAddr;
    place = bsearch(name, sorted, vk_command_count, sizeof(sorted[0]), named);
    return place ? (PFN_vkVoidFunction)stubs[*place] : NULL;
}
