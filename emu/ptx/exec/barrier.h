/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block and of a cluster. Private to the engine.
 */
#ifndef EMU_PTX_EXEC_BARRIER_H
#define EMU_PTX_EXEC_BARRIER_H

#include "emu/ptx/exec/exec.h"

/* PTX_MODE of an instruction that waits at a barrier. */
enum ptx_barrier_mode {
    PTX_BARRIER_SYNC,
    PTX_BARRIER_ARRIVE,
    PTX_BARRIER_POPC,
    PTX_BARRIER_AND,
    PTX_BARRIER_OR,
};

/* Opens what can be opened after an arrival at a barrier of the block, or an exit. */
void ptx_barrier_check(struct ptx_block *block);

/* Opens the cluster's barrier if it can be: after an arrival there, or an exit. */
void ptx_barrier_check_cluster(struct ptx_cluster *cluster);

#endif
