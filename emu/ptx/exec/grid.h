/* SPDX-License-Identifier: Apache-2.0
 *
 * The clusters of a launch that have not started, and the order in which they do. Private to the
 * engine.
 */
#ifndef EMU_PTX_EXEC_GRID_H
#define EMU_PTX_EXEC_GRID_H

#include <stdatomic.h>

#include "emu/ptx/exec/exec.h"

/* The blocks of a launch, shared by its threads; counted in clusters. */
struct ptx_blocks {
    uint64_t count;
    _Atomic uint64_t next;        /* to be started, in order */
    _Atomic uint64_t fault_order; /* the first one that failed; those after it need not go on */
};

/* Chooses the order of the clusters by the launch's schedule and seed, and starts run->random. */
void ptx_grid_init(struct ptx_run *run);

/* Returns the next number of the launch's random sequence. */
uint64_t ptx_grid_random(struct ptx_run *run);

/* Takes the next cluster to start: *order counts starts, *linear says where in the grid it stands.
 * False: none is left. */
bool ptx_grid_take(struct ptx_run *run, uint64_t *order, uint64_t *linear);

/* Takes the next cluster, which then will not start, and says where its first block stands. False:
 * none is left. */
bool ptx_grid_cancel(struct ptx_run *run, uint32_t first[3]);

#endif
