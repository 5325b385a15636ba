/* SPDX-License-Identifier: Apache-2.0
 *
 * mma with .kind: products of floats of 8, 6 and 4 bits, 16 by 8, with scales of blocks along K or
 * without.
 */
#ifndef EMU_PTX_HANDLERS_MATRIX_SCALED_MMA_H
#define EMU_PTX_HANDLERS_MATRIX_SCALED_MMA_H

#include "emu/ptx/insn.h"

/* extra. */
struct ptx_scaled_mma {
    uint8_t k;             /* 32: each element has a byte; 64: four bits */
    uint8_t scales;        /* of a row of A or a column of B; 0: none */
    bool has_short_scales; /* ue4m3, not ue8m0 */
    ptx_type a_type;       /* the pair: PTX_E4M3X2 to PTX_E3M2X2 */
    ptx_type b_type;
    ptx_type d_type; /* of C, too */
    ptx_op a[4], b[2], c[4], d[4];
    ptx_op a_scales, b_scales;
    ptx_op a_at[2], b_at[2]; /* 16 bits: the first byte, and which lanes of four */
};

void ptx_run_scaled_mma(struct ptx_warp *w, const struct ptx_insn *i);

#endif
