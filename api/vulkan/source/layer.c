/* SPDX-License-Identifier: Apache-2.0
 *
 * The layer's own functions: negotiation, the chains of instances and devices, and the functions
 * that give functions. Loader and layer interface: LoaderLayerInterface.md of Vulkan-Loader.
 */
#include "api/vulkan/source/layer.h"

#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/completion/pending.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/source/completion/sync_fd.h"
#include "api/vulkan/source/direct.h"
#include "api/vulkan/source/environment.h"
#include "api/vulkan/source/facts.h"
#include "api/vulkan/source/gpu_time/clock.h"
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/lock.h"
#include "api/vulkan/source/memory/address.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/present.h"
#include "api/vulkan/tables/chain.h"
#include "interpose/interpose.h"

#include <string.h>

TSM_EXPORT VkResult ts_vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version);

atomic_bool vk_instance_seen;
_Atomic(void *) vk_driver_seen;

/* ---- states -------------------------------------------------------------------------------------
 */

static struct tsm_lock states_lock;
static struct vk_instance_state *free_instances;
static struct vk_device_state *free_devices;

static struct vk_instance_state *take_instance(void)
{
    struct vk_instance_state *state;

    vk_lock_take(&states_lock);
    state = free_instances;
    if (state)
        free_instances = state->next_free;
    vk_lock_give(&states_lock);
    return state ? state : tsm_memory_map(sizeof(*state));
}

static void give_instance(struct vk_instance_state *state)
{
    vk_lock_take(&states_lock);
    state->next_free = free_instances;
    free_instances = state;
    vk_lock_give(&states_lock);
}

static struct vk_device_state *take_device(void)
{
    struct vk_device_state *state;

    vk_lock_take(&states_lock);
    state = free_devices;
    if (state)
        free_devices = state->next_free;
    vk_lock_give(&states_lock);
    return state ? state : tsm_memory_map(sizeof(*state));
}

static void give_device(struct vk_device_state *state)
{
    vk_lock_take(&states_lock);
    state->next_free = free_devices;
    free_devices = state;
    vk_lock_give(&states_lock);
}

/* ---- chains --------------------------------------------------------------------------------- */

static bool is_loaders(const VkBaseInStructure *s)
{
    return s->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
           s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO;
}

/* VkLayerSettingsCreateInfoEXT, which not every registry knows: for layers, not for the device. */
#define LAYER_SETTINGS 1000496000

/* The loader puts its structs in front of the program's. */
static const void *without_loaders(const void *next)
{
    const VkBaseInStructure *s = next;

    while (s && (is_loaders(s) || s->sType == (VkStructureType)LAYER_SETTINGS))
        s = s->pNext;
    return s;
}

/* A struct of the loader's with this function. Both kinds of struct begin alike. */
static VkLayerInstanceCreateInfo *find_function(const void *chain, VkLayerFunction function)
{
    const VkBaseInStructure *s = chain;

    for (; s; s = s->pNext) {
        const VkLayerInstanceCreateInfo *info = (const void *)s;
        if (is_loaders(s) && info->function == function)
            return (
                VkLayerInstanceCreateInfo *)(uintptr_t)info; /* the interface wants it advanced */
    }
    return NULL;
}

/* The link to the next layer, NULL when there is none: then there is no loader. */
static VkLayerInstanceCreateInfo *find_link(const void *chain)
{
    return find_function(chain, VK_LAYER_LINK_INFO);
}

/* ---- instances ------------------------------------------------------------------------------ */

static void instance_made(struct vk_instance_state *state, VkInstance instance,
                          PFN_vkGetInstanceProcAddr get, PFN_GetPhysicalDeviceProcAddr get_physical,
                          bool direct)
{
    state->get_physical = get_physical;
    state->direct = direct;
    vk_instance_dispatch_load(&state->dispatch, get, instance);
    if (direct) {
        vk_direct_key(instance, state);
        vk_direct_patch(state);
    }
    vk_instance_add(&state->dispatch, instance);
    atomic_store(&vk_instance_seen, true);
}

static void record_instance(struct tsm_call *call, const VkInstanceCreateInfo *info,
                            VkInstance *instance, VkResult result)
{
    VkInstanceCreateInfo own = *info;
    struct vk_args_vkCreateInstance args = {&own, NULL, instance};

    own.pNext = without_loaders(info->pNext);
    tsm_call_returned(call, result, result < 0);
    vk_record(call, VK_COMMAND_vkCreateInstance, &args, result >= 0);
    tsm_call_commit(call);
}

/* Returns the version of the instance: newer functions must not be called, by us neither. */
static uint32_t api_version(const VkApplicationInfo *info)
{
    return info && info->apiVersion ? info->apiVersion : VK_API_VERSION_1_0;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_vkCreateInstance(const VkInstanceCreateInfo *pCreateInfo,
                                                     const VkAllocationCallbacks *pAllocator,
                                                     VkInstance *pInstance)
{
    VkLayerInstanceCreateInfo *link = find_link(pCreateInfo->pNext);
    PFN_GetPhysicalDeviceProcAddr get_physical = NULL;
    PFN_vkGetInstanceProcAddr get = vk_direct_next();
    struct vk_instance_state *state = take_instance();
    struct tsm_call call;
    PFN_vkCreateInstance create;
    bool recorded;
    VkResult result;

    if (link) {
        get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        get_physical = link->u.pLayerInfo->pfnNextGetPhysicalDeviceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    }
    create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    if (!create || !state)
        return VK_ERROR_INITIALIZATION_FAILED;
    recorded = !vk_layer_is_passive() && tsm_call_begin(&call, TYPE_vkCreateInstance);
    result = create(pCreateInfo, pAllocator, pInstance);
    state->api_version = api_version(pCreateInfo->pApplicationInfo);
    if (result >= 0)
        instance_made(state, *pInstance, get, get_physical, !link);
    else
        give_instance(state);
    if (recorded)
        record_instance(&call, pCreateInfo, pInstance, result);
    return result;
}

VKAPI_ATTR void VKAPI_CALL hook_vkDestroyInstance(VkInstance instance,
                                                  const VkAllocationCallbacks *pAllocator)
{
    struct vk_args_vkDestroyInstance args = {instance, pAllocator};
    struct vk_instance_state *state;
    struct tsm_call call;
    bool recorded;

    if (!instance)
        return;
    state = (struct vk_instance_state *)(uintptr_t)vk_instance_of(instance);
    recorded = !vk_layer_is_passive() && tsm_call_begin(&call, TYPE_vkDestroyInstance);
    if (recorded)
        vk_record(&call, VK_COMMAND_vkDestroyInstance, &args, true);
    /* The loader may give the key to another instance as soon as this one is destroyed. */
    vk_instance_remove(&state->dispatch);
    state->dispatch.f.vkDestroyInstance(instance, pAllocator);
    give_instance(state);
    if (recorded) {
        tsm_call_returned(&call, 0, false);
        tsm_call_commit(&call);
    }
}

/* ---- devices -------------------------------------------------------------------------------- */

/* Puts functions of ours in front of those that map memory, send work, wait for it, or present.
 * They do their part whether or not the call is recorded. */
static void patch(struct vk_device_state *state)
{
    vk_memory_patch(state);
    vk_time_patch(state);
    vk_sync_fd_patch(state);
    vk_wait_patch(state);
    vk_present_patch(state);
}

static void device_made(struct vk_device_state *state, VkDevice device, PFN_vkGetDeviceProcAddr get,
                        VkPhysicalDevice physical, const struct vk_instance_state *instance)
{
    VkPhysicalDeviceProperties properties;

    state->dispatch.physical_device = physical;
    state->dispatch.instance = &instance->dispatch;
    state->direct = instance->direct;
    state->sends = state->seen = 0;
    vk_device_dispatch_load(&state->dispatch, get, device);
    vk_device_dispatch_labels(&state->dispatch, &instance->dispatch);
    instance->dispatch.f.vkGetPhysicalDeviceProperties(physical, &properties);
    instance->dispatch.f.vkGetPhysicalDeviceMemoryProperties(physical, &state->memory);
    state->on_processor = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    if (state->direct)
        vk_direct_key(device, state);
    state->below = state->dispatch.f;
    if (state->direct)
        vk_direct_patch_device(state);
    if (state->opaque_addresses)
        vk_address_patch(state);
    if (!vk_layer_is_passive())
        patch(state);
    vk_device_add(&state->dispatch, device);
}

static uint64_t lone_families(const VkDeviceCreateInfo *info)
{
    uint64_t some = 0, several = 0;

    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
        const VkDeviceQueueCreateInfo *q = &info->pQueueCreateInfos[i];
        const uint64_t bit = q->queueFamilyIndex < 64 ? (uint64_t)1 << q->queueFamilyIndex : 0;
        several |= (some | (q->queueCount > 1 ? bit : 0)) & bit;
        some |= bit;
    }
    return some & ~several;
}

/* For work of our own: checkpoints. */
static void choose_queue(struct vk_device_state *state, const VkDeviceCreateInfo *info)
{
    state->has_queue = false;
    state->lone_families = lone_families(info);
    for (uint32_t i = 0; i < info->queueCreateInfoCount && !state->has_queue; i++) {
        const VkDeviceQueueCreateInfo *q = &info->pQueueCreateInfos[i];
        state->has_queue = !q->flags && q->queueCount;
        state->queue_family = q->queueFamilyIndex;
    }
}

static void record_device(struct tsm_call *call, VkPhysicalDevice physical,
                          const VkDeviceCreateInfo *info, VkDevice *device, VkResult result)
{
    VkDeviceCreateInfo own = *info;
    struct vk_args_vkCreateDevice args = {physical, &own, NULL, device};

    own.pNext = without_loaders(info->pNext);
    tsm_call_returned(call, result, result < 0);
    vk_record(call, VK_COMMAND_vkCreateDevice, &args, result >= 0);
    tsm_call_commit(call);
}

/* With what lets the driver choose addresses again, if it can and the program wants any. */
static VkResult create_device(PFN_vkCreateDevice create, VkPhysicalDevice physical,
                              const VkDeviceCreateInfo *info, const VkAllocationCallbacks *a,
                              VkDevice *device, struct vk_device_state *state)
{
    const struct vk_instance_dispatch *instance = vk_instance_of(physical);
    VkResult result = VK_ERROR_FEATURE_NOT_PRESENT;
    VkDeviceCreateInfo own = *info;
    struct vk_chain_room room;

    state->opaque_addresses =
        !vk_layer_is_passive() && vk_address_device(instance, physical, &own, &room);
    if (state->opaque_addresses)
        result = create(physical, &own, a, device);
    if (result >= 0)
        return result;
    state->opaque_addresses = false;
    return create(physical, info, a, device);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_vkCreateDevice(VkPhysicalDevice physicalDevice,
                                                   const VkDeviceCreateInfo *pCreateInfo,
                                                   const VkAllocationCallbacks *pAllocator,
                                                   VkDevice *pDevice)
{
    const struct vk_instance_state *instance = (const void *)vk_instance_of(physicalDevice);
    VkLayerDeviceCreateInfo *link = (void *)find_link(pCreateInfo->pNext);
    PFN_vkGetInstanceProcAddr get_instance = instance->dispatch.get;
    PFN_vkGetDeviceProcAddr get = instance->dispatch.f.vkGetDeviceProcAddr;
    VkLayerDeviceCreateInfo *data =
        (void *)find_function(pCreateInfo->pNext, VK_LOADER_DATA_CALLBACK);
    struct vk_device_state *state = take_device();
    VkDeviceCreateInfo info = *pCreateInfo;
    struct vk_time_names names;
    PFN_vkCreateDevice create;
    struct tsm_call call;
    bool recorded;
    VkResult result;

    if (link) {
        get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
        get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
        link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    }
    create = (PFN_vkCreateDevice)get_instance(instance->dispatch.instance, "vkCreateDevice");
    if (!create || !state)
        return VK_ERROR_INITIALIZATION_FAILED;
    recorded = !vk_layer_is_passive() && tsm_call_begin(&call, TYPE_vkCreateDevice);
    if (recorded)
        vk_time_extend(instance, physicalDevice, &info, &names);
    result = create_device(create, physicalDevice, &info, pAllocator, pDevice, state);
    if (result >= 0) {
        state->set_loader_data = data ? data->u.pfnSetDeviceLoaderData : NULL;
        device_made(state, *pDevice, get, physicalDevice, instance);
        vk_clock_init(state, &info);
        choose_queue(state, pCreateInfo);
    } else {
        give_device(state);
    }
    if (recorded)
        record_device(&call, physicalDevice, pCreateInfo, pDevice, result);
    if (recorded && result >= 0)
        vk_describe_device(state);
    return result;
}

VKAPI_ATTR void VKAPI_CALL hook_vkDestroyDevice(VkDevice device,
                                                const VkAllocationCallbacks *pAllocator)
{
    struct vk_args_vkDestroyDevice args = {device, pAllocator};
    struct vk_device_state *state;
    struct tsm_call call;
    bool recorded;

    if (!device)
        return;
    state = vk_state_of(device);
    vk_time_device_destroyed(state);
    recorded = !vk_layer_is_passive() && tsm_call_begin(&call, TYPE_vkDestroyDevice);
    if (recorded)
        vk_record(&call, VK_COMMAND_vkDestroyDevice, &args, true);
    vk_pending_device_destroyed(state);
    vk_present_device_destroyed(state);
    vk_memory_device_destroyed(state);
    vk_completion_device_destroyed(state);
    vk_device_remove(&state->dispatch);
    state->below.vkDestroyDevice(device, pAllocator);
    give_device(state);
    if (recorded) {
        tsm_call_returned(&call, 0, false);
        tsm_call_commit(&call);
    }
}

/* ---- functions that give functions ---------------------------------------------------------- */

PFN_vkVoidFunction vk_layer_give(const char *name, PFN_vkVoidFunction next)
{
    PFN_vkVoidFunction own;

    if (!next || vk_layer_is_passive())
        return next;
    own = vk_wrapper(name);
    return own ? own : (PFN_vkVoidFunction)tsm_unwrapped(name, (void *)next);
}

/* Returns the functions that even a layer which records nothing must have. */
static PFN_vkVoidFunction structural(const char *name)
{
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)hook_vkGetInstanceProcAddr;
    if (strcmp(name, "vkCreateInstance") == 0)
        return (PFN_vkVoidFunction)hook_vkCreateInstance;
    if (strcmp(name, "vkDestroyInstance") == 0)
        return (PFN_vkVoidFunction)hook_vkDestroyInstance;
    if (strcmp(name, "vkCreateDevice") == 0)
        return (PFN_vkVoidFunction)hook_vkCreateDevice;
    if (strcmp(name, "vkDestroyDevice") == 0)
        return (PFN_vkVoidFunction)hook_vkDestroyDevice;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)hook_vkGetDeviceProcAddr;
    if (strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0)
        return (PFN_vkVoidFunction)hook_vkEnumerateDeviceExtensionProperties;
    return NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hook_vkGetInstanceProcAddr(VkInstance instance,
                                                                    const char *pName)
{
    PFN_vkVoidFunction own = pName ? structural(pName) : NULL;
    const struct vk_instance_dispatch *next;

    if (own || !pName)
        return own;
    if (!instance) /* of the loader's, or of a driver without one */
        return vk_direct_next() ? vk_direct_next()(NULL, pName) : NULL;
    next = vk_instance_of(instance);
    return next ? vk_layer_give(pName, next->get(instance, pName)) : NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL hook_vkGetDeviceProcAddr(VkDevice device,
                                                                  const char *pName)
{
    PFN_vkVoidFunction next = vk_device_of(device)->get(device, pName);

    if (next &&
        (strcmp(pName, "vkGetDeviceProcAddr") == 0 || strcmp(pName, "vkDestroyDevice") == 0))
        return structural(pName);
    return vk_layer_give(pName, next);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_physical(VkInstance instance, const char *name)
{
    const struct vk_instance_state *state = (const void *)vk_instance_of(instance);
    PFN_vkVoidFunction next = NULL, own;

    if (state && state->get_physical)
        next = state->get_physical(instance, name);
    own = next ? structural(name) : NULL;
    return own ? own : vk_layer_give(name, next);
}

/* ---- what there is -------------------------------------------------------------------------- */

/* Answers for the layer itself from the manifest; other questions go to the driver. */
VKAPI_ATTR VkResult VKAPI_CALL hook_vkEnumerateDeviceExtensionProperties(
    VkPhysicalDevice physicalDevice, const char *pLayerName, uint32_t *pPropertyCount,
    VkExtensionProperties *pProperties)
{
    if (pLayerName && strcmp(pLayerName, VK_OUR_LAYER) == 0) {
        *pPropertyCount = 0;
        return VK_SUCCESS;
    }
    return vk_instance_of(physicalDevice)
        ->f.vkEnumerateDeviceExtensionProperties(physicalDevice, pLayerName, pPropertyCount,
                                                 pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_vkEnumerateDeviceLayerProperties(
    VkPhysicalDevice physicalDevice, uint32_t *pPropertyCount, VkLayerProperties *pProperties)
{
    return vk_instance_of(physicalDevice)
        ->f.vkEnumerateDeviceLayerProperties(physicalDevice, pPropertyCount, pProperties);
}

/* The loader answers these before there is a chain; here they are asked only without a loader. */
#define FROM_DRIVER(name, ...)                                                                     \
    PFN_##name next =                                                                              \
        vk_direct_next() ? (PFN_##name)vk_direct_next()(NULL, #name) : (PFN_##name)NULL;           \
    return next ? next(__VA_ARGS__) : VK_ERROR_INITIALIZATION_FAILED

VKAPI_ATTR VkResult VKAPI_CALL hook_vkEnumerateInstanceExtensionProperties(
    const char *pLayerName, uint32_t *pPropertyCount, VkExtensionProperties *pProperties)
{
    FROM_DRIVER(vkEnumerateInstanceExtensionProperties, pLayerName, pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL
hook_vkEnumerateInstanceLayerProperties(uint32_t *pPropertyCount, VkLayerProperties *pProperties)
{
    FROM_DRIVER(vkEnumerateInstanceLayerProperties, pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_vkEnumerateInstanceVersion(uint32_t *pApiVersion)
{
    FROM_DRIVER(vkEnumerateInstanceVersion, pApiVersion);
}

/* ---- negotiation ---------------------------------------------------------------------------- */

bool vk_layer_is_passive(void)
{
    static atomic_int passive; /* 0 not known yet, 1 no, 2 yes */
    int known = atomic_load_explicit(&passive, memory_order_relaxed);

    if (known == 0) {
        known = vk_environment_wants() ? 1 : 2;
        atomic_store(&passive, known);
    }
    return known == 2;
}

/* Named in the manifest. The usual names are not exported: a preloaded library would stand in front
 * of the loader's functions with them. */
VkResult ts_vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version)
{
    if (version->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        version->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = hook_vkGetInstanceProcAddr;
    version->pfnGetDeviceProcAddr = hook_vkGetDeviceProcAddr;
    version->pfnGetPhysicalDeviceProcAddr = get_physical;
    return VK_SUCCESS;
}
