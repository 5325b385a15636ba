/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch on several host threads. Private to the engine.
 */
#ifndef EMU_PTX_LAUNCH_PARALLEL_LAUNCH_H
#define EMU_PTX_LAUNCH_PARALLEL_LAUNCH_H

#include "emu/ptx/exec/grid.h"

/* run.c: blocks until none is left; false when out of memory. */
bool ptx_run_blocks(struct ptx_run *run);

/* From the launch's own thread, now and then: others may come and help. */
void ptx_parallel_launch_call(struct ptx_run *run);

/* Wait for them. run->fault and run->instructions become the launch's; false when one of them was
 * out of memory. */
bool ptx_parallel_launch_finish(struct ptx_run *run);

#endif
