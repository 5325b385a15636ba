/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that PTX expects of its system: vprintf and the like.
 */
#ifndef EMU_PTX_HANDLERS_BUILTIN_H
#define EMU_PTX_HANDLERS_BUILTIN_H

#include "emu/ptx/exec/exec.h"

bool ptx_builtin_exists(const char *name);

/* Calls it for the lanes of warp->mask. */
void ptx_builtin_run(struct ptx_warp *warp, const struct ptx_insn *insn,
                     const struct ptx_call *call);

#endif
