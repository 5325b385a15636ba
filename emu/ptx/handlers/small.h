/* SPDX-License-Identifier: Apache-2.0
 *
 * Floats of 8 bits for matrices.
 */
#ifndef EMU_PTX_HANDLERS_SMALL_H
#define EMU_PTX_HANDLERS_SMALL_H

#include "emu/ptx/insn.h"

/* type: PTX_E4M3 or PTX_E5M2. Exact. */
double ptx_from_small(ptx_type type, unsigned code);

#endif
