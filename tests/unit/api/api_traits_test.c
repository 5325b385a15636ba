/* SPDX-License-Identifier: Apache-2.0 -- what analysis learns of calls and objects without an API.
 */
#include "api/traits.h"
#include "tests/unit/check.h"

static struct tsm_call_traits of(enum sbt_api api, uint32_t call, const char *name)
{
    const struct sbt_schema schema = {.type = SBT_TYPE(api, call), .name = name, .result_enum = ""};

    return tsm_call_traits(&schema);
}

#define TRAITS(api, call, name) (long long)of(SBT_API_##api, call, name).traits

int main(void)
{
    /* By name, whatever the number: traces are older than pinned numbers. */
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkQueuePresentKHR"), TSM_TRAIT_PRESENTS);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkCmdExecuteCommands"), TSM_TRAIT_EXECUTES);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkCmdDrawIndexed"), TSM_TRAIT_RUNS);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkCmdBlitImage2KHR"), TSM_TRAIT_COPIES);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkCmdUpdateBuffer"), TSM_TRAIT_FILLS);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkCmdPipelineBarrier"), 0);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkGetBufferDeviceAddressEXT"),
                 TSM_TRAIT_ADDRESS | TSM_TRAIT_EXPOSES | TSM_TRAIT_UNRELATED);
    CHECK(strcmp(of(SBT_API_VULKAN, 1, "vkBindImageMemory2KHR").target, "image") == 0);
    CHECK(strcmp(of(SBT_API_VULKAN, 1, "vkQueueBindSparse").target, "") == 0);
    /* Memory is bound by a list: each of its objects keeps the call. */
    CHECK(strcmp(of(SBT_API_VULKAN, 1, "vkBindAccelerationStructureMemoryNV").target,
                 "accelerationStructure") == 0);
    CHECK(strcmp(of(SBT_API_VULKAN, 1, "vkBindTensorMemoryARM").target, "tensor") == 0);
    CHECK(tsm_object_traits("VkTensorARM") & TSM_OBJECT_CARRIER);
    /* Objects that an address or a handle of the driver's reaches need not be named by a submit. */
    CHECK(TRAITS(VULKAN, 1, "vkGetAccelerationStructureDeviceAddressKHR") & TSM_TRAIT_EXPOSES);
    CHECK(TRAITS(VULKAN, 1, "vkGetMemoryRemoteAddressNV") & TSM_TRAIT_EXPOSES);
    CHECK(TRAITS(VULKAN, 1, "vkWriteResourceDescriptorsEXT") & TSM_TRAIT_EXPOSES);
    /* Another API's call of that name, and a name that nobody knows. */
    CHECK_EQ_INT(TRAITS(CUDA, 1, "vkQueuePresentKHR"), 0);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, "vkQueueSubmit9"), 0);
    CHECK_EQ_INT(TRAITS(VULKAN, 1, ""), 0);
    /* A newer registry than ours has it: the patterns. */
    CHECK_EQ_INT(TRAITS(VULKAN, 0x900, "vkQueueSubmit9"), TSM_TRAIT_SUBMITS);
    CHECK(strcmp(of(SBT_API_VULKAN, 0x900, "vkBindBufferMemory2FOO").target, "buffer") == 0);
    CHECK_EQ_INT(TRAITS(VULKAN, 0x900, "vkCmdFoo"), 0);
    /* An alias, and a call that is like another one, has its traits. */
    CHECK_EQ_INT(TRAITS(CUDA, 335, "cuStreamBeginCapture_ptsz"),
                 TSM_TRAIT_GLOBAL | TSM_TRAIT_BEGINS_CAPTURE);
    CHECK_EQ_INT(TRAITS(HSA, 79, "hsa_signal_store_release"), TSM_TRAIT_TRANSIENT);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_CUDA, 334)), TSM_TRAIT_BEGINS_CAPTURE);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_CUDA, 339)), TSM_TRAIT_BEGINS_CAPTURE);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_CUDA, 426)), TSM_TRAIT_HOST_FUNCTION);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_CUDA, 498)), TSM_TRAIT_INSTANTIATES);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_CUDA, 515)), TSM_TRAIT_LAUNCHES_GRAPH);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_CUDA, 516)), 0);
    CHECK_EQ_INT(tsm_graph_traits(SBT_TYPE(SBT_API_VULKAN, 514)), 0);

    /* Devices, of calls, of objects, and of a record that has no number of its own. */
    CHECK_EQ_INT(TRAITS(CUDA, 33, "cuCtxCreate_v2"), TSM_TRAIT_DEVICE | TSM_TRAIT_ENTERS);
    CHECK(strcmp(of(SBT_API_CUDA, 24, "cuDevicePrimaryCtxRetain").target, "dev") == 0);
    CHECK_EQ_INT(TRAITS(CUDA, 42, "cuCtxSetCurrent"), TSM_TRAIT_LEAVES | TSM_TRAIT_ENTERS);
    CHECK(strcmp(of(SBT_API_DRM, 1, "gpu_file").target, "device") == 0);
    CHECK(tsm_object_traits("agent") & TSM_OBJECT_DEVICE);

    CHECK_EQ_INT(tsm_object_traits("VkQueue"), TSM_OBJECT_GROUND | TSM_OBJECT_DROPPABLE);
    CHECK_EQ_INT(tsm_object_traits("VkSomethingNEW"), TSM_OBJECT_DROPPABLE);
    CHECK_EQ_INT(tsm_object_traits("stream"), 0);
    CHECK(strcmp(tsm_object_type_with(TSM_OBJECT_IMAGE), "VkImage") == 0);
    CHECK(strcmp(tsm_object_type_with(0), "") == 0);
    CHECK(tsm_object_type_is("VK_OBJECT_TYPE_SURFACE_KHR", "VkSurfaceKHR"));
    CHECK(!tsm_object_type_is("VK_OBJECT_TYPE_BUFFER", "VkBufferView"));
    CHECK(!tsm_object_type_is("VK_OBJECT_TYPE_BUFFER_VIEW", "VkBuffer"));
    CHECK_EQ_INT(tsm_api_traits(SBT_TYPE(SBT_API_HIP, 1)), TSM_API_NESTS);
    CHECK_EQ_INT(tsm_api_traits(SBT_TYPE(99, 1)), 0);

    CHECK(tsm_result_says_failure(SBT_TYPE(SBT_API_CUDA, 1), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK(tsm_result_says_failure(SBT_TYPE(SBT_API_CUDA, 1), "CUDA_ERROR_LAUNCH_FAILED"));
    CHECK(!tsm_result_says_failure(SBT_TYPE(SBT_API_CUDA, 1), "CUDA_ERROR_INVALID_VALUE"));
    CHECK(!tsm_result_says_failure(SBT_TYPE(SBT_API_HIP, 1), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK(!tsm_result_says_failure(SBT_TYPE(SBT_API_CUDA, 1), ""));
    return check_result();
}
