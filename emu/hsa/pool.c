/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools of memory, which are regions as well: what they say of themselves.
 */
#include "emu/hsa/runtime.h"

#include <string.h>

#define PAGE 4096u

/* `hosts_too`: those of the CPU as well. */
static hsa_status_t each_pool(hsa_agent_t agent, bool hosts_too,
                              hsa_status_t (*give)(uint64_t, void *), void *context)
{
    hsa_status_t status = HSA_STATUS_SUCCESS;
    const struct emu_hsa_pool *pool;

    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    for (uint32_t i = 0; status == HSA_STATUS_SUCCESS && (pool = emu_hsa_pool_at(i)) != NULL; i++)
        if (pool->agent.handle == agent.handle ||
            (hosts_too && pool->agent.handle == emu_hsa_cpu().handle))
            status = give((uint64_t)(uintptr_t)pool, context);
    return status;
}

struct pool_visit {
    hsa_pool_callback_t pool;
    hsa_region_callback_t region;
    void *data;
};

static hsa_status_t give_pool(uint64_t handle, void *context)
{
    const struct pool_visit *visit = context;

    return visit->pool((hsa_amd_memory_pool_t){handle}, visit->data);
}

static hsa_status_t give_region(uint64_t handle, void *context)
{
    const struct pool_visit *visit = context;

    return visit->region((hsa_region_t){handle}, visit->data);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                               hsa_pool_callback_t callback,
                                                               void *data)
{
    struct pool_visit visit = {.pool = callback, .data = data};

    return callback ? each_pool(agent, false, give_pool, &visit)
                    : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* Lists regions as AMD's runtime does: a GPU's regions are also those of the host. */
EMU_HSA_EXPORT hsa_status_t hsa_agent_iterate_regions(hsa_agent_t agent,
                                                      hsa_region_callback_t callback, void *data)
{
    struct pool_visit visit = {.region = callback, .data = data};

    return callback ? each_pool(agent, true, give_region, &visit)
                    : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t memory_pool,
                                                         hsa_amd_memory_pool_info_t attribute,
                                                         void *out)
{
    const struct emu_hsa_pool *pool = emu_hsa_pool_of(memory_pool.handle);

    if (!pool || !out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
        EMU_HSA_GIVE(uint32_t, pool->segment);
        break;
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
        EMU_HSA_GIVE(uint32_t, pool->flags);
        break;
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
        EMU_HSA_GIVE(size_t, pool->allocatable ? EMU_HSA_MEMORY_SIZE : 65536);
        break;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
        EMU_HSA_GIVE(bool, pool->allocatable);
        break;
    case HSA_AMD_LATER_POOL_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT:
        EMU_HSA_GIVE(size_t, PAGE);
        break;
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
        EMU_HSA_GIVE(bool, pool->host_access && pool->agent.handle == emu_hsa_cpu().handle);
        break;
    case HSA_AMD_LATER_POOL_LOCATION:
        EMU_HSA_GIVE(uint32_t, pool->agent.handle == emu_hsa_gpu().handle);
        break;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_region_get_info(hsa_region_t region, hsa_region_info_t attribute,
                                                void *out)
{
    const struct emu_hsa_pool *pool = emu_hsa_pool_of(region.handle);

    if (!pool || !out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)attribute) {
    case HSA_REGION_INFO_SEGMENT:
        EMU_HSA_GIVE(uint32_t, pool->segment == HSA_AMD_SEGMENT_GROUP ? HSA_REGION_SEGMENT_GROUP
                                                                      : HSA_REGION_SEGMENT_GLOBAL);
        break;
    case HSA_REGION_INFO_GLOBAL_FLAGS:
        EMU_HSA_GIVE(uint32_t, pool->flags);
        break; /* the same numbers */
    case HSA_REGION_INFO_SIZE:
    case HSA_REGION_INFO_ALLOC_MAX_SIZE:
        EMU_HSA_GIVE(size_t, pool->allocatable ? EMU_HSA_MEMORY_SIZE : 65536);
        break;
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED:
        EMU_HSA_GIVE(bool, pool->allocatable);
        break;
    case HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT:
        EMU_HSA_GIVE(size_t, PAGE);
        break;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    return HSA_STATUS_SUCCESS;
}

static hsa_amd_memory_pool_access_t access_of(hsa_agent_t agent, const struct emu_hsa_pool *pool)
{
    if (!pool->allocatable || (agent.handle == emu_hsa_cpu().handle && !pool->host_access))
        return HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
    return agent.handle == emu_hsa_cpu().handle && pool->agent.handle == emu_hsa_gpu().handle
               ? HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
               : HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
}

EMU_HSA_EXPORT hsa_status_t
hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t memory_pool,
                                   hsa_amd_agent_memory_pool_info_t attribute, void *out)
{
    const struct emu_hsa_pool *pool = emu_hsa_pool_of(memory_pool.handle);

    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!pool || !out)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (attribute == HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS)
        EMU_HSA_GIVE(hsa_amd_memory_pool_access_t, access_of(agent, pool));
    else if (attribute == HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS)
        EMU_HSA_GIVE(uint32_t, agent.handle != pool->agent.handle);
    else
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return HSA_STATUS_SUCCESS;
}
