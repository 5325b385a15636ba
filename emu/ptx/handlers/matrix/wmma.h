/* SPDX-License-Identifier: Apache-2.0
 *
 * wmma. How a fragment lies in the registers of a warp is unspecified, so ours is the simplest:
 * slot s of a fragment, the s % per-lane'th of lane s / per-lane, is element s of the matrix in row
 * order. Where there are more slots than elements the later ones repeat the earlier ones.
 */
#ifndef EMU_PTX_HANDLERS_MATRIX_WMMA_H
#define EMU_PTX_HANDLERS_MATRIX_WMMA_H

#include "emu/ptx/exec/exec.h"

struct ptx_fragment {
    uint8_t rows;
    uint8_t columns;
    uint8_t bits;  /* of an element */
    uint8_t count; /* registers */
    ptx_type type;
    bool is_column_major; /* in memory */
    ptx_op ops[8];
};

struct ptx_wmma {
    struct ptx_fragment a, b, c, d;
    uint8_t k;
    uint8_t round; /* enum ptx_round, of f64 */
    bool saturates;
    bool is_and; /* of single bits: and rather than xor */
};

/* extra: struct ptx_fragment; src[0] + imm: the matrix; src[1]: elements from one row or column to
 * the next (32 bits), or none: as many as a row or column has. */
void ptx_run_wmma_load(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_wmma_store(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_wmma(struct ptx_warp *w, const struct ptx_insn *i); /* extra: struct ptx_wmma */

#endif
