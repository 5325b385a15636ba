/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a grid: work-item after work-item, in order.
 */
#include "emu/hsa/emu_hsa.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tracesmith/hsa_kernel.h"

#define GROUP_SIZE_MAX 65536u

/* TS_EMU_NOOP: nothing is computed. Tests look whether that is noticed. */
static bool is_noop(void)
{
    const char *setting = getenv("TS_EMU_NOOP");

    return setting && strcmp(setting, "0") != 0 && *setting;
}

static uint32_t groups(uint32_t size, uint32_t group_size)
{
    return (uint32_t)(((uint64_t)size + group_size - 1) / group_size);
}

static void run_group(const struct tracesmith_hsa_kernel *kernel, const void *arguments,
                      struct tracesmith_work_item *item)
{
    uint32_t first[3], count[3];

    for (unsigned i = 0; i < 3; i++) {
        uint32_t left;
        first[i] = item->group[i] * item->group_size[i];
        left = item->grid_size[i] - first[i];
        count[i] = left < item->group_size[i] ? left : item->group_size[i];
    }
    for (uint32_t z = 0; z < count[2]; z++)
        for (uint32_t y = 0; y < count[1]; y++)
            for (uint32_t x = 0; x < count[0]; x++) {
                item->local[0] = x, item->local[1] = y, item->local[2] = z;
                for (unsigned i = 0; i < 3; i++)
                    item->global[i] = first[i] + item->local[i];
                kernel->entry(arguments, item);
            }
}

static void run_grid(const struct tracesmith_hsa_kernel *kernel, const void *arguments,
                     struct tracesmith_work_item *item, uint32_t group_memory)
{
    for (item->group[2] = 0; item->group[2] < groups(item->grid_size[2], item->group_size[2]);
         item->group[2]++)
        for (item->group[1] = 0; item->group[1] < groups(item->grid_size[1], item->group_size[1]);
             item->group[1]++)
            for (item->group[0] = 0;
                 item->group[0] < groups(item->grid_size[0], item->group_size[0]);
                 item->group[0]++) {
                memset(item->group_memory, 0, group_memory);
                run_group(kernel, arguments, item);
            }
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
    struct tracesmith_work_item item = {
        .grid_size = {packet->grid_size_x, dimensions > 1 ? packet->grid_size_y : 1,
                      dimensions > 2 ? packet->grid_size_z : 1},
        .group_size = {packet->workgroup_size_x, dimensions > 1 ? packet->workgroup_size_y : 1,
                       dimensions > 2 ? packet->workgroup_size_z : 1},
    };

    if (kernel && kernel->magic == EMU_HSA_KERNEL_FOREIGN)
        return run_foreign();
    if (!kernel || kernel->magic != TRACESMITH_HSA_KERNEL_MAGIC)
        return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    if (!dimensions || dimensions > 3 || packet->group_segment_size > GROUP_SIZE_MAX)
        return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    for (unsigned i = 0; i < 3; i++)
        if (!item.group_size[i] || !item.grid_size[i])
            return HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    if (is_noop())
        return HSA_STATUS_SUCCESS;
    item.group_memory = malloc(packet->group_segment_size + 1);
    if (!item.group_memory)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    run_grid(kernel, packet->kernarg_address, &item, packet->group_segment_size);
    free(item.group_memory);
    return HSA_STATUS_SUCCESS;
}
