/* SPDX-License-Identifier: Apache-2.0
 *
 * Acceleration structures that nobody builds, for the driver of the tests.
 */
#include "tests/vulkan/vk_driver.h"

VkResult VKAPI_CALL rays_create(VkDevice device, const VkAccelerationStructureCreateInfoKHR *info,
                                const VkAllocationCallbacks *a, VkAccelerationStructureKHR *out)
{
    static uint64_t next = 0x1000;

    *out = (VkAccelerationStructureKHR)(uintptr_t)(next += 16);
    return VK_SUCCESS;
}

void VKAPI_CALL rays_destroy(VkDevice device, VkAccelerationStructureKHR structure,
                             const VkAllocationCallbacks *a)
{
}

void VKAPI_CALL rays_build(VkCommandBuffer commands, uint32_t count,
                           const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                           const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
}
