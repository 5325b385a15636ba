/* SPDX-License-Identifier: Apache-2.0
 *
 * Dispatches: checks packets, and runs what they ask for, here (grid.c) or in the sandbox.
 */
#include "emu/hsa/group.h"
#include "emu/hsa/sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "tracesmith/hsa_kernel.h"

#define GROUP_SIZE_MAX 65536u
#define GROUP_MAX      1024u

/* Tests a setting by which tests make this device fail, to see whether the failure is noticed. */
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

static hsa_status_t run(struct emu_hsa_group *group, const hsa_kernel_dispatch_packet_t *packet)
{
    hsa_status_t status = emu_hsa_grid_run(group, packet->group_segment_size);

    if (group->is_wrong)
        tsm_log(TSM_LOG_ERROR, "a kernel called a barrier that was not made with "
                               "TRACESMITH_HSA_BARRIER_KERNEL");
    return status;
}

static hsa_status_t run_remote(const struct emu_hsa_group *group,
                               const hsa_kernel_dispatch_packet_t *packet)
{
    const struct emu_hsa_remote_kernel *kernel = (const void *)group->kernel;
    struct emu_hsa_remote_grid grid = {.arguments = (uint64_t)(uintptr_t)group->arguments,
                                       .group_memory = packet->group_segment_size};

    memcpy(grid.grid_size, group->item.grid_size, sizeof(grid.grid_size));
    memcpy(grid.group_size, group->item.group_size, sizeof(grid.group_size));
    return (hsa_status_t)emu_hsa_sandbox_run(kernel, &grid);
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
    if (!kernel ||
        (kernel->magic != TRACESMITH_HSA_KERNEL_MAGIC && kernel->magic != EMU_HSA_KERNEL_REMOTE))
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
    if (is_noop())
        return HSA_STATUS_SUCCESS;
    return kernel->magic == EMU_HSA_KERNEL_REMOTE ? run_remote(&group, packet)
                                                  : run(&group, packet);
}

/* ---- agent dispatch packets --------------------------------------------------------------------
 */

hsa_status_t emu_hsa_perform(const hsa_agent_dispatch_packet_t *packet)
{
    const uint64_t *arg = packet->arg;

    if (packet->type > TRACESMITH_HSA_FUNCTION_FILL)
        return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    if (packet->type == TRACESMITH_HSA_FUNCTION_NONE || is_noop())
        return HSA_STATUS_SUCCESS;
    if (!arg[0] || (packet->type == TRACESMITH_HSA_FUNCTION_COPY && !arg[1]))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (emu_hsa_sandbox_is_used())
        return (hsa_status_t)emu_hsa_sandbox_perform(packet);
    emu_hsa_function_run(packet);
    return HSA_STATUS_SUCCESS;
}
