/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a grid: work-item after work-item, in order; those of a kernel with barriers in turns, each
 * on a stack of its own (group.c). Also performs the functions of agent dispatch packets.
 * Both run in the program's process, or in the sandbox (emu/hsa/sandbox/child.c).
 */
#include "emu/hsa/group.h"

#include <stdlib.h>
#include <string.h>

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
    return group->is_wrong ? HSA_STATUS_ERROR_INVALID_CODE_OBJECT : HSA_STATUS_SUCCESS;
}

hsa_status_t emu_hsa_grid_run(struct emu_hsa_group *group, uint32_t group_memory)
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

/* ---- agent dispatch packets --------------------------------------------------------------------
 */

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

void emu_hsa_function_run(const hsa_agent_dispatch_packet_t *packet)
{
    const uint64_t *arg = packet->arg;
    uint64_t returned = arg[0];

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
}
