/* SPDX-License-Identifier: Apache-2.0
 *
 * The two agents and the instruction set: what they say of themselves.
 */
#include "emu/hsa/runtime.h"

#include "base/text.h"
#include "tracesmith/hsa_kernel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CPU_NAME "TraceSmith host"
#define GPU_NAME "TraceSmith software GPU"

#define ISA_VARIABLE "TS_EMU_HSA_ISA"
#define ISA_SIZE     64u

/* Returns the GPU's instruction set. TS_EMU_HSA_ISA replaces it, for libraries that look at the
 * name before they do anything, such as AMD's HIP; kernels of that set do not run. */
const char *emu_hsa_isa(void)
{
    const char *said = getenv(ISA_VARIABLE);

    return said && *said && strlen(said) < ISA_SIZE ? said : TRACESMITH_HSA_ISA;
}

static char own_isa; /* its address is the handle */

/* ---- agents ------------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_iterate_agents(hsa_agent_callback_t callback, void *data)
{
    hsa_status_t status;

    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (!callback)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = callback(emu_hsa_cpu(), data);
    return status == HSA_STATUS_SUCCESS ? callback(emu_hsa_gpu(), data) : status;
}

static bool give_of_gpu(hsa_agent_info_t attribute, void *out)
{
    static const uint16_t workgroup[3] = {1024, 1024, 1024};

    switch ((int)attribute) {
    case HSA_AGENT_INFO_FEATURE:
        EMU_HSA_GIVE(uint32_t,
                     HSA_AGENT_FEATURE_KERNEL_DISPATCH | HSA_AGENT_FEATURE_AGENT_DISPATCH);
        break;
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
        EMU_HSA_GIVE(uint32_t, 64);
        break;
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
        memcpy(out, workgroup, sizeof(workgroup));
        break;
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, 1024);
        break;
    case HSA_AGENT_INFO_GRID_MAX_DIM:
        EMU_HSA_GIVE(hsa_dim3_t, ((hsa_dim3_t){UINT32_MAX, UINT32_MAX, UINT32_MAX}));
        break;
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, UINT32_MAX);
        break;
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, 32);
        break;
    case HSA_AGENT_INFO_QUEUES_MAX:
        EMU_HSA_GIVE(uint32_t, 128);
        break;
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE:
        EMU_HSA_GIVE(uint32_t, 64);
        break;
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, 131072);
        break;
    case HSA_AGENT_INFO_QUEUE_TYPE:
        EMU_HSA_GIVE(hsa_queue_type32_t, HSA_QUEUE_TYPE_MULTI);
        break;
    case HSA_AGENT_INFO_ISA:
        EMU_HSA_GIVE(uint64_t, (uint64_t)(uintptr_t)&own_isa);
        break;
    case HSA_AGENT_INFO_EXTENSIONS:
        memset(out, 0, 128);
        *(uint8_t *)out |= 1u << HSA_EXTENSION_IMAGES;
        break;
    default:
        return emu_hsa_image_info(attribute, out);
    }
    return true;
}

static bool give_of_cpu(hsa_agent_info_t attribute, void *out)
{
    switch ((int)attribute) {
    case HSA_AGENT_INFO_FEATURE:
    case HSA_AGENT_INFO_WAVEFRONT_SIZE:
    case HSA_AGENT_INFO_WORKGROUP_MAX_SIZE:
    case HSA_AGENT_INFO_GRID_MAX_SIZE:
    case HSA_AGENT_INFO_FBARRIER_MAX_SIZE:
    case HSA_AGENT_INFO_QUEUES_MAX:
    case HSA_AGENT_INFO_QUEUE_MIN_SIZE:
    case HSA_AGENT_INFO_QUEUE_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, 0);
        break;
    case HSA_AGENT_INFO_WORKGROUP_MAX_DIM:
        memset(out, 0, 3 * sizeof(uint16_t));
        break;
    case HSA_AGENT_INFO_GRID_MAX_DIM:
        memset(out, 0, sizeof(hsa_dim3_t));
        break;
    case HSA_AGENT_INFO_QUEUE_TYPE:
        EMU_HSA_GIVE(hsa_queue_type32_t, HSA_QUEUE_TYPE_MULTI);
        break;
    case HSA_AGENT_INFO_ISA:
        EMU_HSA_GIVE(uint64_t, 0);
        break;
    default:
        return false;
    }
    return true;
}

static void give_name(bool is_gpu, void *out)
{
    memset(out, 0, 64);
    tsm_format(out, 64, "%s", is_gpu ? GPU_NAME : CPU_NAME);
}

/* Libraries look for the processor's name here, too: that of "amdgcn-amd-amdhsa--gfx906:xnack-". */
static void give_processor(bool is_gpu, void *out)
{
    const char *said = is_gpu ? strstr(emu_hsa_isa(), "--") : NULL;
    char name[ISA_SIZE];

    give_name(is_gpu, out);
    if (!said || !said[2])
        return;
    tsm_format(name, sizeof(name), "%s", said + 2);
    name[strcspn(name, ":")] = '\0';
    memset(out, 0, 64);
    tsm_format(out, 64, "%s", name);
}

/* Answers questions of the HSA specification about any agent. */
static bool give_standard(bool is_gpu, hsa_agent_info_t attribute, void *out)
{
    switch ((int)attribute) {
    case HSA_AGENT_INFO_NAME:
        give_processor(is_gpu, out);
        break;
    case HSA_AGENT_INFO_VENDOR_NAME:
        memset(out, 0, 64);
        tsm_format(out, 64, TRACESMITH_HSA_VENDOR);
        break;
    case HSA_AGENT_INFO_DEVICE:
        EMU_HSA_GIVE(hsa_device_type_t, is_gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
        break;
    case HSA_AGENT_INFO_MACHINE_MODEL:
        EMU_HSA_GIVE(hsa_machine_model_t, HSA_MACHINE_MODEL_LARGE);
        break;
    case HSA_AGENT_INFO_PROFILE:
        EMU_HSA_GIVE(hsa_profile_t, is_gpu ? HSA_PROFILE_BASE : HSA_PROFILE_FULL);
        break;
    case HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
    case HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
        EMU_HSA_GIVE(uint32_t, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR);
        break;
    case HSA_AGENT_INFO_FAST_F16_OPERATION:
        EMU_HSA_GIVE(bool, false);
        break;
    case HSA_AGENT_INFO_NODE:
        EMU_HSA_GIVE(uint32_t, is_gpu);
        break;
    case HSA_AGENT_INFO_CACHE_SIZE:
        memset(out, 0, 4 * sizeof(uint32_t));
        break;
    case HSA_AGENT_INFO_EXTENSIONS:
        memset(out, 0, 128);
        break;
    case HSA_AGENT_INFO_VERSION_MAJOR:
    case HSA_AGENT_INFO_VERSION_MINOR:
        EMU_HSA_GIVE(uint16_t, 1);
        break;
    default:
        return false;
    }
    return true;
}

/* Answers questions of AMD's extension about any agent. */
static bool give_amd(bool is_gpu, hsa_agent_info_t attribute, void *out)
{
    switch ((int)attribute) {
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME:
        give_name(is_gpu, out);
        break;
    case HSA_AMD_AGENT_INFO_DRIVER_NODE_ID:
        EMU_HSA_GIVE(uint32_t, is_gpu);
        break;
    case HSA_AMD_AGENT_INFO_CHIP_ID:
    case HSA_AMD_AGENT_INFO_BDFID:
    case HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS:
        EMU_HSA_GIVE(uint32_t, 0);
        break;
    case HSA_AMD_AGENT_INFO_CACHELINE_SIZE:
        EMU_HSA_GIVE(uint32_t, 64);
        break;
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT:
    case HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU:
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES:
    case HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE:
        EMU_HSA_GIVE(uint32_t, 1);
        break;
    case HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY:
    case HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY:
        EMU_HSA_GIVE(uint32_t, 1000);
        break;
    case HSA_AMD_AGENT_INFO_MEMORY_WIDTH:
        EMU_HSA_GIVE(uint32_t, 64);
        break;
    case HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU:
        EMU_HSA_GIVE(uint32_t, 64);
        break;
    case HSA_AMD_AGENT_INFO_HDP_FLUSH:
        memset(out, 0, sizeof(hsa_amd_hdp_flush_t));
        break;
    case HSA_AMD_AGENT_INFO_DOMAIN:
    case HSA_AMD_AGENT_INFO_ASIC_REVISION:
        EMU_HSA_GIVE(uint32_t, 0);
        break;
    case HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT:
        EMU_HSA_GIVE(uint32_t, is_gpu);
        break;
    case HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES:
        EMU_HSA_GIVE(bool, is_gpu);
        break;
    case HSA_AMD_AGENT_INFO_UUID:
        memset(out, 0, 21);
        tsm_format(out, 21, is_gpu ? "GPU-XX" : "CPU-XX"); /* "no number" */
        break;
    case HSA_AMD_LATER_AGENT_AVAILABLE:
        EMU_HSA_GIVE(uint64_t, EMU_HSA_MEMORY_SIZE - emu_hsa_taken(is_gpu));
        break;
    case HSA_AMD_LATER_AGENT_FREQUENCY:
        EMU_HSA_GIVE(uint64_t, 1000000000u);
        break;
    case HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS:
        EMU_HSA_GIVE(bool, true);
        break;
    default:
        return false;
    }
    return true;
}

EMU_HSA_EXPORT hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute,
                                               void *value)
{
    bool is_gpu = agent.handle == emu_hsa_gpu().handle;

    if (!emu_hsa_is_up())
        return HSA_STATUS_ERROR_NOT_INITIALIZED;
    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (value && ((is_gpu ? give_of_gpu : give_of_cpu)(attribute, value) ||
                  give_standard(is_gpu, attribute, value) || give_amd(is_gpu, attribute, value)))
        return HSA_STATUS_SUCCESS;
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent,
                                                          uint16_t major, uint16_t minor,
                                                          bool *result)
{
    hsa_status_t status = hsa_system_extension_supported(extension, major, minor, result);

    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (status == HSA_STATUS_SUCCESS)
        *result = *result && agent.handle == emu_hsa_gpu().handle;
    return status;
}

/* It makes no difference, but what was set is told. */
static atomic_uint coherency[2];

EMU_HSA_EXPORT hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t agent,
                                                       hsa_amd_coherency_type_t type)
{
    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (type != HSA_AMD_COHERENCY_TYPE_COHERENT && type != HSA_AMD_COHERENCY_TYPE_NONCOHERENT)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    atomic_store(&coherency[agent.handle == emu_hsa_gpu().handle], type);
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_coherency_get_type(hsa_agent_t agent,
                                                       hsa_amd_coherency_type_t *type)
{
    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!type)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *type = (hsa_amd_coherency_type_t)atomic_load(&coherency[agent.handle == emu_hsa_gpu().handle]);
    return HSA_STATUS_SUCCESS;
}

/* ---- the instruction set -----------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_agent_iterate_isas(hsa_agent_t agent, hsa_isa_callback_t callback,
                                                   void *data)
{
    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!callback)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (agent.handle == emu_hsa_cpu().handle)
        return HSA_STATUS_SUCCESS;
    return callback((hsa_isa_t){(uint64_t)(uintptr_t)&own_isa}, data);
}

EMU_HSA_EXPORT hsa_status_t hsa_isa_from_name(const char *name, hsa_isa_t *isa)
{
    if (!name || !isa)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (strcmp(name, emu_hsa_isa()) != 0)
        return HSA_STATUS_ERROR_INVALID_ISA_NAME;
    isa->handle = (uint64_t)(uintptr_t)&own_isa;
    return HSA_STATUS_SUCCESS;
}

static bool give_of_isa(hsa_isa_info_t attribute, void *out)
{
    static const bool large[2] = {false, true}, base[2] = {true, false};
    static const bool near[3] = {false, false, true};
    static const uint16_t workgroup[3] = {1024, 1024, 1024};

    switch ((int)attribute) {
    case HSA_ISA_INFO_MACHINE_MODELS:
        memcpy(out, large, sizeof(large));
        break;
    case HSA_ISA_INFO_PROFILES:
        memcpy(out, base, sizeof(base));
        break;
    case HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES:
    case HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES:
        memcpy(out, near, sizeof(near));
        break;
    case HSA_ISA_INFO_FAST_F16_OPERATION:
        EMU_HSA_GIVE(bool, false);
        break;
    case HSA_ISA_INFO_WORKGROUP_MAX_DIM:
        memcpy(out, workgroup, sizeof(workgroup));
        break;
    case HSA_ISA_INFO_WORKGROUP_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, 1024);
        break;
    case HSA_ISA_INFO_GRID_MAX_DIM:
        EMU_HSA_GIVE(hsa_dim3_t, ((hsa_dim3_t){UINT32_MAX, UINT32_MAX, UINT32_MAX}));
        break;
    case HSA_ISA_INFO_GRID_MAX_SIZE:
        EMU_HSA_GIVE(uint64_t, UINT32_MAX);
        break;
    case HSA_ISA_INFO_FBARRIER_MAX_SIZE:
        EMU_HSA_GIVE(uint32_t, 32);
        break;
    default:
        return false;
    }
    return true;
}

EMU_HSA_EXPORT hsa_status_t hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void *out)
{
    if (isa.handle != (uint64_t)(uintptr_t)&own_isa)
        return HSA_STATUS_ERROR_INVALID_ISA;
    if (!out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_ISA_INFO_NAME_LENGTH:
        EMU_HSA_GIVE(uint32_t, (uint32_t)strlen(emu_hsa_isa()) + 1);
        break;
    case HSA_ISA_INFO_NAME:
        memcpy(out, emu_hsa_isa(), strlen(emu_hsa_isa()) + 1);
        break;
    default:
        return give_of_isa(attribute, out) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa,
                                               bool *result)
{
    if (!result)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *result = code_object_isa.handle == agent_isa.handle;
    return HSA_STATUS_SUCCESS;
}
