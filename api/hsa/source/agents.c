/* SPDX-License-Identifier: Apache-2.0
 *
 * Records agents and memory when the runtime is up: a replay searches for the same.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"

#include <string.h>

#include "tracesmith/hsa_kernel.h"

#define AGENT_MAX 64u
#define POOL_MAX  32u

struct agents {
    uint32_t count;
    hsa_agent_t all[AGENT_MAX];
};

struct pools {
    uint32_t count;
    uint64_t all[POOL_MAX];
};

static hsa_agent_t cpu;
static hsa_region_t queue_region;

hsa_region_t hsa_queue_region(void)
{
    return queue_region;
}

static hsa_status_t note_agent(hsa_agent_t agent, void *data)
{
    struct agents *agents = data;

    if (agents->count < AGENT_MAX)
        agents->all[agents->count++] = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t note_pool(hsa_amd_memory_pool_t pool, void *data)
{
    struct pools *pools = data;

    if (pools->count < POOL_MAX)
        pools->all[pools->count++] = pool.handle;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t note_region(hsa_region_t region, void *data)
{
    return note_pool((hsa_amd_memory_pool_t){region.handle}, data);
}

static hsa_status_t take_isa(hsa_isa_t isa, void *data)
{
    uint32_t length = 0;

    if (hsa_runtime.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) ==
            HSA_STATUS_SUCCESS &&
        length < 64)
        hsa_runtime.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, data);
    return HSA_STATUS_INFO_BREAK; /* the first one */
}

bool hsa_agent_is_software(hsa_agent_t agent)
{
    char name[64] = "";

    return hsa_runtime.hsa_agent_get_info(agent, HSA_AGENT_INFO_VENDOR_NAME, name) ==
               HSA_STATUS_SUCCESS &&
           strcmp(name, TRACESMITH_HSA_VENDOR) == 0;
}

bool hsa_agent_is_host(hsa_agent_t agent)
{
    const struct tsm_handle *handle = hsa_find(HSA_OBJECT_AGENT, agent.handle);

    return handle && handle->user;
}

/* ---- records -----------------------------------------------------------------------------------
 */

static void record_agent(hsa_agent_t agent, uint32_t ordinal)
{
    char name[65] = "", isa[65] = "";
    hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
    struct tsm_handle *handle;
    struct tsm_call call;

    hsa_runtime.hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
    hsa_runtime.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    hsa_runtime.hsa_agent_iterate_isas(agent, take_isa, isa);
    if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
        cpu = agent;
    if (!tsm_call_begin(&call, TYPE_hsa_agent))
        return;
    tsm_call_returned(&call, 0, false);
    handle = tsm_handle_add(SBT_API_HSA, HSA_OBJECT_AGENT, agent.handle);
    handle->user = (void *)(uintptr_t)(type == HSA_DEVICE_TYPE_CPU);
    tsm_call_slot(&call, handle->id);
    tsm_call_slot(&call, ordinal);
    tsm_call_slot(&call, type);
    tsm_call_string(&call, name);
    tsm_call_string(&call, isa);
    tsm_call_commit(&call);
}

struct facts {
    uint32_t type;
    enum hsa_object object;
    uint64_t raw;
    hsa_agent_t agent;
    uint32_t segment, flags;
    bool allocatable, host_access, may_allow;
};

static void record_facts(const struct facts *f)
{
    uintptr_t known = HSA_POOL_KNOWN;
    struct tsm_handle *handle;
    struct tsm_call call;

    if (!tsm_call_begin(&call, f->type))
        return;
    handle = tsm_handle_add(SBT_API_HSA, f->object, f->raw);
    known |= f->host_access ? HSA_POOL_HOST_ACCESS : 0;
    known |= f->may_allow ? HSA_POOL_MAY_ALLOW : 0;
    known |= f->flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT ? HSA_POOL_KERNARG : 0;
    handle->user = (void *)known;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, handle->id);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, f->agent.handle));
    tsm_call_slot(&call, f->segment);
    tsm_call_slot(&call, f->flags);
    tsm_call_slot(&call, f->allocatable);
    tsm_call_slot(&call, f->host_access);
    tsm_call_commit(&call);
}

static void record_pool(hsa_agent_t agent, uint64_t raw)
{
    const hsa_amd_memory_pool_t pool = {raw};
    hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
    struct facts f = {.type = TYPE_hsa_pool, .object = HSA_OBJECT_POOL, .raw = raw, .agent = agent};

    hsa_runtime.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &f.segment);
    if (f.segment == HSA_AMD_SEGMENT_GLOBAL)
        hsa_runtime.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
                                                 &f.flags);
    hsa_runtime.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                             &f.allocatable);
    hsa_runtime.hsa_amd_agent_memory_pool_get_info(cpu, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
                                                   &access);
    /* A GPU's memory that the host could reach is the GPU's, until it is allowed to. */
    f.host_access =
        access == HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT ||
        (access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED && hsa_agent_is_host(agent));
    f.may_allow = access == HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT;
    record_facts(&f);
}

/* Whether the host can reach a region is not to be asked: those of a CPU's agent it can. */
static void record_region(hsa_agent_t agent, uint64_t raw)
{
    const hsa_region_t region = {raw};
    struct facts f = {
        .type = TYPE_hsa_region, .object = HSA_OBJECT_REGION, .raw = raw, .agent = agent};

    hsa_runtime.hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &f.segment);
    if (f.segment == (uint32_t)HSA_REGION_SEGMENT_GLOBAL)
        hsa_runtime.hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &f.flags);
    hsa_runtime.hsa_region_get_info(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED, &f.allocatable);
    f.host_access = agent.handle == cpu.handle;
    if (f.host_access && f.allocatable && (f.flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED))
        queue_region = region;
    record_facts(&f);
}

/* A GPU's regions are also those of the host: what is known keeps what is known of it. */
static void record_regions(hsa_agent_t agent)
{
    struct pools regions = {0};

    hsa_runtime.hsa_agent_iterate_regions(agent, note_region, &regions);
    for (uint32_t k = 0; k < regions.count; k++)
        if (!hsa_find(HSA_OBJECT_REGION, regions.all[k]))
            record_region(agent, regions.all[k]);
}

static bool is_described;

void hsa_then_init(void)
{
    struct agents agents = {0};

    is_described = true;
    hsa_runtime.hsa_iterate_agents(note_agent, &agents);
    if (agents.count && hsa_find(HSA_OBJECT_AGENT, agents.all[0].handle))
        return; /* not the first hsa_init() */
    for (uint32_t i = 0; i < agents.count; i++)
        record_agent(agents.all[i], i);
    record_regions(cpu);
    for (uint32_t i = 0; i < agents.count; i++) {
        struct pools pools = {0};
        hsa_runtime.hsa_amd_agent_iterate_memory_pools(agents.all[i], note_pool, &pools);
        for (uint32_t k = 0; k < pools.count; k++)
            record_pool(agents.all[i], pools.all[k]);
        record_regions(agents.all[i]);
    }
}

/* Notes the start of the runtime: where the runtime's table alone leads to us, its first hsa_init()
 * was over before we saw a call. Nobody gets far without asking for agents. */
hsa_status_t hook_hsa_iterate_agents(hsa_agent_callback_t callback, void *data)
{
    struct tsm_call call;

    if (!is_described && tsm_call_begin(&call, TYPE_hsa_init)) {
        tsm_call_returned(&call, 0, false);
        tsm_call_commit(&call);
        hsa_then_init();
    }
    return hsa_runtime.hsa_iterate_agents(callback, data);
}
