/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch on several host threads. Private to the engine.
 */
#ifndef EMU_PTX_EXEC_PARALLEL_LAUNCH_H
#define EMU_PTX_EXEC_PARALLEL_LAUNCH_H

#include <stdatomic.h>

#include "emu/ptx/exec/exec.h"

/* The blocks of a launch, shared by its threads; counted in clusters. */
struct ptx_blocks {
    uint64_t count;
    _Atomic uint64_t next;        /* to be started, in order */
    _Atomic uint64_t fault_order; /* the first one that failed; those after it need not go on */
};

/* run.c: blocks until none is left; false when out of memory. */
bool ptx_run_blocks(struct ptx_run *run);

/* From the launch's own thread, now and then: others may come and help. */
void ptx_parallel_launch_call(struct ptx_run *run);

/* Wait for them. run->fault and run->instructions become the launch's; false when one of them was
 * out of memory. */
bool ptx_parallel_launch_finish(struct ptx_run *run);

#endif
