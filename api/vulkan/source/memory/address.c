/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of buffers. A driver chooses them; one with bufferDeviceAddressCaptureReplay can be
 * asked to choose them again. Where the program uses addresses on such a device, that feature is
 * switched on for it, its buffers and memory are made with the flags that this takes, and what the
 * driver needs to know later is recorded as if the program had asked for it.
 */
#include "api/vulkan/source/memory/address.h"

#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"

#include <vulkan/vk_layer.h>

/* ---- devices -------------------------------------------------------------------------------- */

static bool can_choose(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical)
{
    VkPhysicalDeviceBufferDeviceAddressFeatures here = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 query = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                       .pNext = &here};
    bool is_core = ((const struct vk_instance_state *)(const void *)instance)->api_version >=
                   VK_API_VERSION_1_1;
    PFN_vkGetPhysicalDeviceFeatures2 ask = is_core ? instance->f.vkGetPhysicalDeviceFeatures2
                                                   : instance->f.vkGetPhysicalDeviceFeatures2KHR;

    if (ask)
        ask(physical, &query);
    return here.bufferDeviceAddressCaptureReplay;
}

bool vk_address_device(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical,
                       VkDeviceCreateInfo *info, struct vk_chain_room *room)
{
    const VkPhysicalDeviceVulkan12Features *all =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceBufferDeviceAddressFeatures *one = vk_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);

    if (!(all && all->bufferDeviceAddress) && !(one && one->bufferDeviceAddress))
        return false;
    if (!can_choose(instance, physical))
        return false;
    if (all && all->bufferDeviceAddress) {
        VkPhysicalDeviceVulkan12Features *own =
            vk_chain_copy_until(room->bytes, sizeof(room->bytes), &info->pNext, all->sType);
        if (own)
            own->bufferDeviceAddressCaptureReplay = VK_TRUE;
        return own != NULL;
    }
    VkPhysicalDeviceBufferDeviceAddressFeatures *own =
        vk_chain_copy_until(room->bytes, sizeof(room->bytes), &info->pNext, one->sType);
    if (own)
        own->bufferDeviceAddressCaptureReplay = VK_TRUE;
    return own != NULL;
}

/* ---- buffers and memory --------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkBuffer *buffer)
{
    VkBufferCreateInfo own = *info;

    if (info->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)
        own.flags |= VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return vk_state_of(device)->without_addresses.vkCreateBuffer(device, &own, allocator, buffer);
}

static const VkMemoryAllocateFlagsInfo *address_flags(const VkMemoryAllocateInfo *info)
{
    const VkMemoryAllocateFlagsInfo *flags =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);

    /* Imported memory has its address already. */
    if (vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT) ||
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR))
        return NULL;
    return flags && (flags->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT) ? flags : NULL;
}

/* The room is large for a thread's stack: only where it is needed. */
static __attribute__((noinline)) VkResult allocate_at(VkDevice device,
                                                      const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkDeviceMemory *memory)
{
    VkMemoryAllocateInfo own = *info;
    struct vk_chain_room room;
    VkMemoryAllocateFlagsInfo *more = vk_chain_copy_until(
        room.bytes, sizeof(room.bytes), &own.pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);

    if (more)
        more->flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return vk_state_of(device)->without_addresses.vkAllocateMemory(device, &own, allocator, memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkDeviceMemory *memory)
{
    if (address_flags(info))
        return allocate_at(device, info, allocator, memory);
    return vk_state_of(device)->without_addresses.vkAllocateMemory(device, info, allocator, memory);
}

void vk_address_patch(struct vk_device_state *device)
{
    device->without_addresses.vkCreateBuffer = device->below.vkCreateBuffer;
    device->without_addresses.vkAllocateMemory = device->below.vkAllocateMemory;
    device->below.vkCreateBuffer = device->dispatch.f.vkCreateBuffer = create_buffer;
    device->below.vkAllocateMemory = device->dispatch.f.vkAllocateMemory = allocate;
}

/* ---- what is recorded ----------------------------------------------------------------------- */

static void record(uint32_t type, uint32_t command, const void *args, uint64_t address)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, type))
        return;
    tsm_call_returned(&call, (int64_t)address, false);
    vk_record(&call, command, args, true);
    tsm_call_commit(&call);
}

void vk_address_of_buffer(const struct vk_args_vkCreateBuffer *made)
{
    const struct vk_device_state *state = vk_state_of(made->device);
    PFN_vkGetBufferOpaqueCaptureAddress ask = state->below.vkGetBufferOpaqueCaptureAddress
                                                  ? state->below.vkGetBufferOpaqueCaptureAddress
                                                  : state->below.vkGetBufferOpaqueCaptureAddressKHR;
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                      .buffer = *made->pBuffer};
    struct vk_args_vkGetBufferOpaqueCaptureAddress args = {made->device, &info};

    if (state->opaque_addresses && ask &&
        (made->pCreateInfo->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT))
        record(TYPE_vkGetBufferOpaqueCaptureAddress, VK_COMMAND_vkGetBufferOpaqueCaptureAddress,
               &args, ask(made->device, &info));
}

void vk_memory_created(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkAllocateMemory *a = args;
    const struct vk_device_state *state = vk_state_of(a->device);
    PFN_vkGetDeviceMemoryOpaqueCaptureAddress ask =
        state->below.vkGetDeviceMemoryOpaqueCaptureAddress
            ? state->below.vkGetDeviceMemoryOpaqueCaptureAddress
            : state->below.vkGetDeviceMemoryOpaqueCaptureAddressKHR;
    VkDeviceMemoryOpaqueCaptureAddressInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_OPAQUE_CAPTURE_ADDRESS_INFO};
    struct vk_args_vkGetDeviceMemoryOpaqueCaptureAddress asked = {a->device, &info};

    if (result >= 0)
        vk_memory_named(state, *a->pMemory);
    if (result < 0 || !state->opaque_addresses || !ask || !address_flags(a->pAllocateInfo))
        return;
    info.memory = *a->pMemory;
    record(TYPE_vkGetDeviceMemoryOpaqueCaptureAddress,
           VK_COMMAND_vkGetDeviceMemoryOpaqueCaptureAddress, &asked, ask(a->device, &info));
}
