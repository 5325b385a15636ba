/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents and pools of this machine stand for the recorded ones: the first of the same type
 * and instruction set, and of that agent the first pool that is good for the same. A trace that
 * needs what is not here is refused before anything runs.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "replay/find_emu.h"
#include "tracesmith/hsa_kernel.h"

/* ---- what was recorded -------------------------------------------------------------------------
 */

static struct hsa_part *part_of(struct hsa_part *parts, uint32_t count, uint64_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].id == id)
            return &parts[i];
    return NULL;
}

static void copy_text(struct hsa_replay *replay, uint64_t id, char *out, size_t size)
{
    const char *text = id ? sbt_reader_string(replay->reader, (uint32_t)id) : NULL;

    tsm_format(out, size, "%s", text ? text : "");
}

static int plan_agent(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_machine_parts *r = &replay->recorded;
    struct hsa_part *agent = &r->agents[r->agent_count];

    if (r->agent_count == HSA_AGENT_MAX)
        return tsm_fail(TSM_E_LIMIT, "the trace has more than %u agents", HSA_AGENT_MAX);
    agent->id = hsa_slot(record, SLOT_hsa_agent_agent);
    agent->type = (uint32_t)hsa_slot(record, SLOT_hsa_agent_type);
    copy_text(replay, hsa_slot(record, SLOT_hsa_agent_isa), agent->isa, sizeof(agent->isa));
    r->agent_count++;
    return 0;
}

/* The slots of hsa_pool and hsa_region are the same. */
static int plan_pool(struct hsa_part *pools, uint32_t *count, const struct sbt_record *record)
{
    struct hsa_part *pool = &pools[*count];

    if (*count == HSA_POOL_MAX)
        return tsm_fail(TSM_E_LIMIT, "the trace has more than %u pools", HSA_POOL_MAX);
    pool->id = hsa_slot(record, SLOT_hsa_pool_pool);
    pool->agent = hsa_slot(record, SLOT_hsa_pool_agent);
    pool->segment = (uint32_t)hsa_slot(record, SLOT_hsa_pool_segment);
    pool->flags = (uint32_t)hsa_slot(record, SLOT_hsa_pool_flags);
    pool->allocatable = hsa_slot(record, SLOT_hsa_pool_allocatable) != 0;
    pool->host_access = hsa_slot(record, SLOT_hsa_pool_host_access) != 0;
    ++*count;
    return 0;
}

static void use(struct hsa_part *parts, uint32_t count, uint64_t id)
{
    struct hsa_part *part = part_of(parts, count, id);

    if (part)
        part->is_used = true;
}

int hsa_agents_plan(struct hsa_replay *replay, const struct sbt_record *record)
{
    struct hsa_machine_parts *r = &replay->recorded;

    switch (record->type) {
    case TYPE_hsa_agent:
        return plan_agent(replay, record);
    case TYPE_hsa_pool:
        return plan_pool(r->pools, &r->pool_count, record);
    case TYPE_hsa_region:
        return plan_pool(r->regions, &r->region_count, record);
    case TYPE_hsa_queue_create:
    case TYPE_hsa_amd_queue_intercept_create:
        use(r->agents, r->agent_count, hsa_slot(record, SLOT_hsa_queue_create_agent));
        return 0;
    case TYPE_hsa_executable_load_agent_code_object:
        use(r->agents, r->agent_count,
            hsa_slot(record, SLOT_hsa_executable_load_agent_code_object_agent));
        return 0;
    case TYPE_hsa_executable_load_code_object:
        use(r->agents, r->agent_count,
            hsa_slot(record, SLOT_hsa_executable_load_code_object_agent));
        return 0;
    case TYPE_hsa_amd_memory_pool_allocate:
        use(r->pools, r->pool_count,
            hsa_slot(record, SLOT_hsa_amd_memory_pool_allocate_memory_pool));
        return 0;
    case TYPE_hsa_amd_vmem_handle_create:
        use(r->pools, r->pool_count, hsa_slot(record, SLOT_hsa_amd_vmem_handle_create_pool));
        return 0;
    case TYPE_hsa_amd_vmem_import_shareable_handle:
        use(r->pools, r->pool_count,
            hsa_slot(record, SLOT_hsa_amd_vmem_import_shareable_handle_pool));
        return 0;
    case TYPE_hsa_amd_interop_map_buffer:
        use(r->pools, r->pool_count, hsa_slot(record, SLOT_hsa_amd_interop_map_buffer_pool));
        return 0;
    case TYPE_hsa_memory_allocate:
        use(r->regions, r->region_count, hsa_slot(record, SLOT_hsa_memory_allocate_region));
        return 0;
    default:
        return 0;
    }
}

/* ---- what is here ------------------------------------------------------------------------------
 */

static hsa_status_t take_isa(hsa_isa_t isa, void *data)
{
    struct hsa_replay *replay = data;
    struct hsa_part *agent = &replay->here.agents[replay->here.agent_count];
    uint32_t length = 0;

    if (replay->calls.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) ==
            HSA_STATUS_SUCCESS &&
        length < sizeof(agent->isa))
        replay->calls.hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, agent->isa);
    return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t take_agent(hsa_agent_t raw, void *data)
{
    struct hsa_replay *replay = data;
    struct hsa_part *agent = &replay->here.agents[replay->here.agent_count];
    char vendor[64] = "";

    if (replay->here.agent_count == HSA_AGENT_MAX)
        return HSA_STATUS_SUCCESS;
    agent->raw = raw.handle;
    if (replay->calls.hsa_agent_get_info(raw, HSA_AGENT_INFO_VENDOR_NAME, vendor) ==
        HSA_STATUS_SUCCESS)
        agent->is_software = !strcmp(vendor, TRACESMITH_HSA_VENDOR);
    replay->calls.hsa_agent_get_info(raw, HSA_AGENT_INFO_DEVICE, &agent->type);
    replay->calls.hsa_agent_iterate_isas(raw, take_isa, replay);
    replay->here.agent_count++;
    return HSA_STATUS_SUCCESS;
}

struct pool_visit {
    struct hsa_replay *replay;
    uint64_t agent;
};

static bool is_cpu(const struct hsa_replay *replay, uint64_t raw)
{
    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        if (replay->here.agents[i].raw == raw)
            return replay->here.agents[i].type == HSA_DEVICE_TYPE_CPU;
    return false;
}

static hsa_agent_t first_cpu(const struct hsa_replay *replay)
{
    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        if (replay->here.agents[i].type == HSA_DEVICE_TYPE_CPU)
            return (hsa_agent_t){replay->here.agents[i].raw};
    return (hsa_agent_t){0};
}

static hsa_status_t take_pool(hsa_amd_memory_pool_t raw, void *data)
{
    const struct pool_visit *visit = data;
    struct hsa_replay *replay = visit->replay;
    struct hsa_part *pool = &replay->here.pools[replay->here.pool_count];
    hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;

    if (replay->here.pool_count == HSA_POOL_MAX)
        return HSA_STATUS_SUCCESS;
    pool->raw = raw.handle;
    pool->agent = visit->agent;
    replay->calls.hsa_amd_memory_pool_get_info(raw, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
                                               &pool->segment);
    if (pool->segment == HSA_AMD_SEGMENT_GLOBAL)
        replay->calls.hsa_amd_memory_pool_get_info(raw, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
                                                   &pool->flags);
    replay->calls.hsa_amd_memory_pool_get_info(raw, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                               &pool->allocatable);
    replay->calls.hsa_amd_agent_memory_pool_get_info(
        first_cpu(replay), raw, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS, &access);
    pool->host_access = access != HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
    replay->here.pool_count++;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t take_region(hsa_region_t raw, void *data)
{
    const struct pool_visit *visit = data;
    struct hsa_replay *replay = visit->replay;
    struct hsa_part *region = &replay->here.regions[replay->here.region_count];

    if (replay->here.region_count == HSA_POOL_MAX)
        return HSA_STATUS_SUCCESS;
    region->raw = raw.handle;
    region->agent = visit->agent;
    replay->calls.hsa_region_get_info(raw, HSA_REGION_INFO_SEGMENT, &region->segment);
    if (region->segment == (uint32_t)HSA_REGION_SEGMENT_GLOBAL)
        replay->calls.hsa_region_get_info(raw, HSA_REGION_INFO_GLOBAL_FLAGS, &region->flags);
    replay->calls.hsa_region_get_info(raw, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED,
                                      &region->allocatable);
    region->host_access = is_cpu(replay, visit->agent);
    replay->here.region_count++;
    return HSA_STATUS_SUCCESS;
}

static void look_around(struct hsa_replay *replay)
{
    memset(&replay->here, 0, sizeof(replay->here));
    replay->calls.hsa_iterate_agents(take_agent, replay);
    for (uint32_t i = 0; i < replay->here.agent_count; i++) {
        const hsa_agent_t agent = {replay->here.agents[i].raw};
        struct pool_visit visit = {replay, agent.handle};
        replay->calls.hsa_amd_agent_iterate_memory_pools(agent, take_pool, &visit);
        replay->calls.hsa_agent_iterate_regions(agent, take_region, &visit);
    }
}

/* ---- what stands for what ----------------------------------------------------------------------
 */

/* The n-th recorded agent of a kind is the n-th here, or the last one. */
static uint64_t match_agent(const struct hsa_replay *replay, uint32_t at)
{
    const struct hsa_part *wanted = &replay->recorded.agents[at];
    uint32_t before = 0;
    uint64_t found = 0;

    for (uint32_t i = 0; i < at; i++)
        before += replay->recorded.agents[i].type == wanted->type &&
                  !strcmp(replay->recorded.agents[i].isa, wanted->isa);
    for (uint32_t i = 0; i < replay->here.agent_count; i++) {
        const struct hsa_part *agent = &replay->here.agents[i];
        if (agent->type != wanted->type || strcmp(agent->isa, wanted->isa) != 0)
            continue;
        found = agent->raw;
        if (!before--)
            break;
    }
    return found;
}

static uint64_t match_pool(const struct hsa_part *wanted, uint64_t agent,
                           const struct hsa_part *pools, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (pools[i].agent == agent && pools[i].segment == wanted->segment &&
            pools[i].flags == wanted->flags && pools[i].allocatable == wanted->allocatable)
            return pools[i].raw;
    return 0;
}

static int match_pools(struct hsa_replay *replay, struct hsa_part *wanted, uint32_t wanted_count,
                       const struct hsa_part *pools, uint32_t count)
{
    for (uint32_t i = 0; i < wanted_count; i++) {
        hsa_agent_t agent = hsa_agents_agent(replay, wanted[i].agent);
        wanted[i].raw = agent.handle ? match_pool(&wanted[i], agent.handle, pools, count) : 0;
        if (wanted[i].is_used && !wanted[i].raw)
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "the trace uses memory (segment %u, flags 0x%x) that %s does not have",
                            wanted[i].segment, wanted[i].flags, replay->path);
    }
    return 0;
}

static int match(struct hsa_replay *replay)
{
    struct hsa_machine_parts *r = &replay->recorded;
    int error;

    for (uint32_t i = 0; i < r->agent_count; i++) {
        r->agents[i].raw = match_agent(replay, i);
        if (r->agents[i].is_used && !r->agents[i].raw)
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "the trace is for an agent with instruction set \"%s\", and %s has "
                            "none",
                            r->agents[i].isa, replay->path);
    }
    error =
        match_pools(replay, r->pools, r->pool_count, replay->here.pools, replay->here.pool_count);
    return error ? error
                 : match_pools(replay, r->regions, r->region_count, replay->here.regions,
                               replay->here.region_count);
}

hsa_agent_t hsa_agents_agent(const struct hsa_replay *replay, uint64_t id)
{
    for (uint32_t i = 0; i < replay->recorded.agent_count; i++)
        if (replay->recorded.agents[i].id == id)
            return (hsa_agent_t){replay->recorded.agents[i].raw};
    return (hsa_agent_t){0};
}

bool hsa_agents_are_software(const struct hsa_replay *replay, hsa_agent_t agent)
{
    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        if (replay->here.agents[i].raw == agent.handle)
            return replay->here.agents[i].is_software;
    return false;
}

const struct hsa_part *hsa_agents_pool(const struct hsa_replay *replay, uint64_t id)
{
    return part_of((struct hsa_part *)replay->recorded.pools, replay->recorded.pool_count, id);
}

const struct hsa_part *hsa_agents_region(const struct hsa_replay *replay, uint64_t id)
{
    return part_of((struct hsa_part *)replay->recorded.regions, replay->recorded.region_count, id);
}

/* ---- the library -------------------------------------------------------------------------------
 */

static void *find_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void hsa_agents_close(struct hsa_replay *replay)
{
    if (replay->is_up)
        replay->calls.hsa_shut_down();
    if (replay->library)
        dlclose(replay->library);
    replay->library = NULL;
    replay->sandbox_why = NULL;
    replay->is_up = false;
}

static int start(struct hsa_replay *replay)
{
    hsa_status_t status = replay->calls.hsa_init();

    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_init", status);
    replay->is_up = true;
    look_around(replay);
    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        replay->is_emu |= !strcmp(replay->here.agents[i].isa, TRACESMITH_HSA_ISA);
    return match(replay);
}

/* The software GPU runs code of the trace in a sandbox. A runtime without one is a real GPU's. */
static void use_sandbox(struct hsa_replay *replay)
{
    hsa_sandbox_function ask =
        (hsa_sandbox_function)(uintptr_t)dlsym(replay->library, HSA_SANDBOX_FUNCTION);

    replay->has_sandbox = ask && !replay->options->trust_code;
    if (!replay->has_sandbox)
        return;
    replay->sandbox_why =
        (hsa_sandbox_why_function)(uintptr_t)dlsym(replay->library, HSA_SANDBOX_WHY_FUNCTION);
    ask(replay->options->timeout_ns);
}

/* A software GPU that has none would run code of the trace in this process. */
static int check_sandbox(const struct hsa_replay *replay)
{
    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        if (!replay->has_sandbox && !replay->options->trust_code &&
            (replay->here.agents[i].is_software ||
             !strcmp(replay->here.agents[i].isa, TRACESMITH_HSA_ISA)))
            return tsm_fail(TSM_E_UNSUPPORTED,
                            "%s has no sandbox for code of the trace; only if you trust whoever "
                            "made the trace: --trust-code",
                            replay->path);
    return 0;
}

static int open_at(struct hsa_replay *replay, const char *path)
{
    int error;

    replay->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!replay->library)
        return tsm_fail(TSM_E_NOT_FOUND, "%s", dlerror());
    tsm_format(replay->path, sizeof(replay->path), "%s", path);
    hsa_real_load(&replay->calls, find_symbol, replay->library);
    replay->has_virtual = dlsym(replay->library, "hsa_amd_vmem_address_reserve") != NULL;
    use_sandbox(replay);
    error = start(replay);
    if (!error)
        error = check_sandbox(replay);
    if (error)
        hsa_agents_close(replay);
    return error;
}

static int open_emu(struct hsa_replay *replay)
{
    char path[2 * PATH_MAX];

    tsm_find_emu(path, sizeof(path), "libhsa-runtime64.so.1", "TS_EMU_HSA_LIBRARY");
    return open_at(replay, path);
}

int hsa_agents_open(struct hsa_replay *replay)
{
    const struct tsm_replay_options *options = replay->options;
    char why[256];
    int error;

    if (options->library)
        return open_at(replay, options->library);
    if (options->device && !strcmp(options->device, "emu"))
        return open_emu(replay);
    error = open_at(replay, "libhsa-runtime64.so.1");
    if (!error || options->device)
        return error;
    tsm_format(why, sizeof(why), "%s", tsm_error_message());
    tsm_log(TSM_LOG_INFO, "no HSA agent for this trace (%s): trying the software GPU", why);
    if (open_emu(replay) == 0)
        return 0;
    return tsm_fail(error, "no HSA runtime that fits (%s), nor does the software GPU (%s)", why,
                    tsm_error_message());
}
