/* SPDX-License-Identifier: Apache-2.0
 *
 * wgmma. Each warp computes its 16 of the 64 rows when it gets there; wgmma.wait_group holds the
 * four warps of a group until all of them have.
 */
#ifndef EMU_PTX_HANDLERS_MATRIX_WGMMA_H
#define EMU_PTX_HANDLERS_MATRIX_WGMMA_H

#include "emu/ptx/handlers/memory.h"

struct ptx_wgmma {
    struct ptx_mma mma; /* of one warp, but for its registers and n */
    uint16_t n;
    bool a_in_registers;
    bool a_is_k_major;
    bool b_is_k_major;
    bool a_is_negated;
    bool b_is_negated;
    ptx_op adds;   /* predicate: D is added to */
    ptx_op a_desc; /* 64 bits; also b_desc */
    ptx_op b_desc;
    ptx_op a[4];
    ptx_op d[128];
};

void ptx_run_wgmma(struct ptx_warp *w, const struct ptx_insn *i); /* extra: struct ptx_wgmma */

#endif
