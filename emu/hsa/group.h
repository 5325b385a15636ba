/* SPDX-License-Identifier: Apache-2.0
 *
 * One work-group after the other of a dispatch, and the stacks of its work-items where the kernel
 * has barriers: there each runs until its next barrier, or its end, and then the next one does.
 */
#ifndef EMU_HSA_GROUP_H
#define EMU_HSA_GROUP_H

#include "emu/hsa/runtime.h"
#include "tracesmith/hsa_kernel.h"

struct emu_hsa_stacks;

struct emu_hsa_group {
    struct tracesmith_work_item item; /* first: a kernel's barrier has its address */
    const struct tracesmith_hsa_kernel *kernel;
    const void *arguments;
    uint32_t first[3], count[3];   /* its work-items in the grid */
    struct emu_hsa_stacks *stacks; /* NULL: work-items run on the caller's */
    bool is_wrong;                 /* a barrier was called without stacks */
};

/* The place of a work-item, by its place in the group. */
void emu_hsa_group_item(const struct emu_hsa_group *group, const uint32_t local[3],
                        struct tracesmith_work_item *out);

/* Stacks for groups of item.group_size. False: no memory, or more than is allowed. */
bool emu_hsa_group_init(struct emu_hsa_group *group);
void emu_hsa_group_finish(struct emu_hsa_group *group);
/* Run the group, whose place is set. */
void emu_hsa_group_run(struct emu_hsa_group *group);

/* ---- grid.c ----------------------------------------------------------------------------
 */

/* Runs all groups of item.grid_size, with as many bytes of group memory. */
hsa_status_t emu_hsa_grid_run(struct emu_hsa_group *group, uint32_t group_memory);
/* Performs a function of enum tracesmith_hsa_function that is one, with arguments that are not 0.
 */
void emu_hsa_function_run(const hsa_agent_dispatch_packet_t *packet);

#endif
