/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine: its two agents, their pools of memory, its clock, and who uses it.
 */
#include "emu/hsa/runtime.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BAR_VARIABLE "TS_EMU_HSA_BAR"

static atomic_uint users;

/* Their addresses are the handles. */
static char agents[2];

#define CPU_HANDLE ((uint64_t)(uintptr_t)&agents[0])
#define GPU_HANDLE ((uint64_t)(uintptr_t)&agents[1])

enum { POOL_FINE, POOL_KERNARG, POOL_COARSE, POOL_DEVICE, POOL_GROUP, POOL_COUNT };

static struct emu_hsa_pool pools[POOL_COUNT] = {
    {.segment = HSA_AMD_SEGMENT_GLOBAL,
     .flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED,
     .allocatable = true,
     .host_access = true},
    {.segment = HSA_AMD_SEGMENT_GLOBAL,
     .flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED |
              HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
     .allocatable = true,
     .host_access = true},
    {.segment = HSA_AMD_SEGMENT_GLOBAL,
     .flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
     .allocatable = true,
     .host_access = true},
    {.segment = HSA_AMD_SEGMENT_GLOBAL,
     .flags = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
     .allocatable = true},
    {.segment = HSA_AMD_SEGMENT_GROUP},
};

bool emu_hsa_is_up(void)
{
    return atomic_load(&users) > 0;
}

hsa_agent_t emu_hsa_cpu(void)
{
    return (hsa_agent_t){CPU_HANDLE};
}

hsa_agent_t emu_hsa_gpu(void)
{
    return (hsa_agent_t){GPU_HANDLE};
}

bool emu_hsa_is_agent(hsa_agent_t agent)
{
    return agent.handle == CPU_HANDLE || agent.handle == GPU_HANDLE;
}

const struct emu_hsa_pool *emu_hsa_pool_of(uint64_t handle)
{
    for (unsigned i = 0; i < POOL_COUNT; i++)
        if (handle == (uint64_t)(uintptr_t)&pools[i])
            return &pools[i];
    return NULL;
}

const struct emu_hsa_pool *emu_hsa_pool_at(uint32_t number)
{
    return number < POOL_COUNT ? &pools[number] : NULL;
}

uint32_t emu_hsa_pool_number(const struct emu_hsa_pool *pool)
{
    return (uint32_t)(pool - pools);
}

/* TS_EMU_HSA_BAR=large: the CPU may use the GPU's memory, when it is allowed to. */
static bool has_large_bar(void)
{
    const char *said = getenv(BAR_VARIABLE);

    return said && strcmp(said, "large") == 0;
}

bool emu_hsa_machine_begin(void)
{
    pools[POOL_DEVICE].host_access = has_large_bar();
    for (unsigned i = 0; i < POOL_COUNT; i++)
        pools[i].agent.handle = i < POOL_DEVICE ? CPU_HANDLE : GPU_HANDLE;
    if (atomic_fetch_add(&users, 1) < INT32_MAX - 1)
        return true;
    atomic_fetch_sub(&users, 1);
    return false;
}

unsigned emu_hsa_machine_end(void)
{
    unsigned count = atomic_load(&users);

    while (count && !atomic_compare_exchange_weak(&users, &count, count - 1))
        ;
    return count;
}

uint64_t emu_hsa_time(void)
{
    return tsm_monotonic_ns();
}
