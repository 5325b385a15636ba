/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the registers of a kernel that may be ramps (emu/ptx/exec/ramp.h), and how each instruction
 * is executed then. Private to the engine.
 */
#ifndef EMU_PTX_LAUNCH_PLAN_H
#define EMU_PTX_LAUNCH_PLAN_H

#include "emu/ptx/exec/ramp.h"

/* Returns the kernel's plan, made when it is first asked for; it belongs to the module. NULL: it
 * has an instruction whose registers are not known here, or memory is short. Any thread. */
const struct ptx_plan *ptx_plan_of(const struct ptx_run *run);

#endif
