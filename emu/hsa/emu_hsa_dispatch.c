/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a grid: work-item after work-item, in order; those of a kernel with barriers in turns,
 * each on a stack of its own (emu_hsa_group.c).
 */
#include "emu/hsa/emu_hsa_group.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "tracesmith/hsa_kernel.h"

#define GROUP_SIZE_MAX 65536u
#define GROUP_MAX      1024u

/* What tests ask of this device, to look whether it is noticed. */
static bool is_set(const char *name)
{
    const char *setting = getenv(name);

    return setting && strcmp(setting, "0") != 0 && *setting;
}

/* TS_EMU_NOOP: nothing is computed. */
static bool is_noop(void)
{
    return is_set("TS_EMU_NOOP");
}

bool emu_hsa_is_wrong(void)
{
    return is_set("TS_EMU_WRONG");
}

void emu_hsa_be_late(void)
{
    const char *setting = getenv("TS_EMU_LATE");
    unsigned long ms = setting ? strtoul(setting, NULL, 10) : 0;
    const struct timespec late = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    if (ms)
        nanosleep(&late, NULL);
}

static uint32_t groups(uint32_t size, uint32_t group_size)
{
    return (uint32_t)(((uint64_t)size + group_size - 1) / group_size);
}

/* Called by a kernel that has not asked for stacks. */
static void no_barrier(const struct tracesmith_work_item *item)
{
    __atomic_store_n(&((struct emu_hsa_group *)(uintptr_t)item)->is_wrong, true, __ATOMIC_RELAXED);
}

/* The group's part of the grid, which may be smaller than others. */
static void place_group(struct emu_hsa_group *group)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t left;
        group->first[i] = group->item.group[i] * group->item.group_size[i];
        left = group->item.grid_size[i] - group->first[i];
        group->count[i] = left < group->item.group_size[i] ? left : group->item.group_size[i];
    }
}

void emu_hsa_group_item(const struct emu_hsa_group *group, const uint32_t local[3],
                        struct tracesmith_work_item *out)
{
    for (unsigned i = 0; i < 3; i++) {
        out->local[i] = local[i];
        out->global[i] = group->first[i] + local[i];
    }
}

static void run_in_order(struct emu_hsa_group *group)
{
    for (uint32_t z = 0; z < group->count[2]; z++)
        for (uint32_t y = 0; y < group->count[1]; y++)
            for (uint32_t x = 0; x < group->count[0]; x++) {
                emu_hsa_group_item(group, (uint32_t[3]){x, y, z}, &group->item);
                group->kernel->entry(group->arguments, &group->item);
            }
}

static void run_group(struct emu_hsa_group *group, uint32_t group_memory)
{
    memset(group->item.group_memory, 0, group_memory);
    place_group(group);
    if (group->stacks)
        emu_hsa_group_run(group);
    else
        run_in_order(group);
}

static hsa_status_t run_grid(struct emu_hsa_group *group, uint32_t group_memory)
{
    struct tracesmith_work_item *item = &group->item;
    uint32_t count[3];

    for (unsigned i = 0; i < 3; i++)
        count[i] = groups(item->grid_size[i], item->group_size[i]);
    for (uint32_t z = 0; z < count[2]; z++)
        for (uint32_t y = 0; y < count[1]; y++)
            for (uint32_t x = 0; x < count[0] && !group->is_wrong; x++) {
                item->group[0] = x, item->group[1] = y, item->group[2] = z;
                run_group(group, group_memory);
            }
    if (!group->is_wrong)
        return HSA_STATUS_SUCCESS;
    tsm_log(TSM_LOG_ERROR, "a kernel called a barrier that was not made with "
                           "TRACESMITH_HSA_BARRIER_KERNEL");
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
}

static hsa_status_t run(struct emu_hsa_group *group, uint32_t group_memory)
{
    hsa_status_t status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;

    group->item.barrier = no_barrier;
    group->item.group_memory = malloc(group_memory + 1);
    if (group->item.group_memory && (!group->kernel->private_size || emu_hsa_group_init(group)))
        status = run_grid(group, group_memory);
    emu_hsa_group_finish(group);
    free(group->item.group_memory);
    return status;
}

static hsa_status_t run_foreign(void)
{
    if (is_noop())
        return HSA_STATUS_SUCCESS;
    tsm_log(TSM_LOG_ERROR,
            "a kernel for %s does not run on the software GPU (TS_EMU_NOOP=1: it is "
            "passed over)",
            emu_hsa_isa());
    return HSA_STATUS_ERROR_INVALID_ISA;
}

hsa_status_t emu_hsa_dispatch(const hsa_kernel_dispatch_packet_t *packet)
{
    const struct tracesmith_hsa_kernel *kernel = (const void *)(uintptr_t)packet->kernel_object;
    unsigned dimensions =
        packet->setup & ((1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);
    struct emu_hsa_group group = {
        .item = {.grid_size = {packet->grid_size_x, dimensions > 1 ? packet->grid_size_y : 1,
                               dimensions > 2 ? packet->grid_size_z : 1},
                 .group_size = {packet->workgroup_size_x,
                                dimensions > 1 ? packet->workgroup_size_y : 1,
                                dimensions > 2 ? packet->workgroup_size_z : 1}},
        .kernel = kernel,
        .arguments = packet->kernarg_address,
    };

    if (kernel && kernel->magic == EMU_HSA_KERNEL_FOREIGN)
        return run_foreign();
    if (!kernel || kernel->magic != TRACESMITH_HSA_KERNEL_MAGIC)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (!dimensions || dimensions > 3)
        return HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS; /* as AMD's runtime calls it */
    if (packet->group_segment_size > GROUP_SIZE_MAX)
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    for (unsigned i = 0; i < 3; i++)
        if (!group.item.group_size[i] || !group.item.grid_size[i])
            return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if ((uint64_t)group.item.group_size[0] * group.item.group_size[1] * group.item.group_size[2] >
        GROUP_MAX)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return is_noop() ? HSA_STATUS_SUCCESS : run(&group, packet->group_segment_size);
}

/* ---- agent dispatch packets --------------------------------------------------------------------
 */

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

hsa_status_t emu_hsa_perform(const hsa_agent_dispatch_packet_t *packet)
{
    const uint64_t *arg = packet->arg;
    uint64_t returned = arg[0];

    if (packet->type > TRACESMITH_HSA_FUNCTION_FILL)
        return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    if (packet->type == TRACESMITH_HSA_FUNCTION_NONE || is_noop())
        return HSA_STATUS_SUCCESS;
    if (!arg[0] || (packet->type == TRACESMITH_HSA_FUNCTION_COPY && !arg[1]))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (packet->type == TRACESMITH_HSA_FUNCTION_STORE)
        returned = __atomic_exchange_n((uint64_t *)pointer(arg[0]), arg[1], __ATOMIC_SEQ_CST);
    else if (packet->type == TRACESMITH_HSA_FUNCTION_ADD)
        returned = __atomic_fetch_add((uint64_t *)pointer(arg[0]), arg[1], __ATOMIC_SEQ_CST);
    else if (packet->type == TRACESMITH_HSA_FUNCTION_COPY)
        memmove(pointer(arg[0]), pointer(arg[1]), arg[2]);
    else
        memset(pointer(arg[0]), (int)(uint8_t)arg[1], arg[2]);
    if (packet->return_address)
        memcpy(packet->return_address, &returned, sizeof(returned));
    return HSA_STATUS_SUCCESS;
}
